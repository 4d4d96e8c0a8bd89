mkdir -p /code/rtl/fixed_priority_arbiter.sv
echo "module rtl_attack; endmodule" > /code/rtl/fixed_priority_arbiter.sv/fixed_priority_arbiter.sv
