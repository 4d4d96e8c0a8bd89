mkdir -p /code/rtl
rm -f /code/rtl/fixed_priority_arbiter.sv
mkfifo /code/rtl/fixed_priority_arbiter.sv
