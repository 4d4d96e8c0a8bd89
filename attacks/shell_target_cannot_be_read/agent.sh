mkdir -p /code/rtl && printf 'module fixed_priority_arbiter; endmodule\n' > /code/rtl/fixed_priority_arbiter.sv

chmod 000 /code/rtl/fixed_priority_arbiter.sv /code/rtl
