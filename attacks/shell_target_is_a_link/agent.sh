mkdir -p /code/rtl
ln -sf @CANARY@ /code/rtl/fixed_priority_arbiter.sv
ls -la /code/rtl
