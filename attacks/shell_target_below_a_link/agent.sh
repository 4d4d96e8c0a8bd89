rm -rf /code/rtl
mkdir -p /tmp/elsewhere
echo "module rtl_attack; endmodule" > /tmp/elsewhere/fixed_priority_arbiter.sv
ln -s /tmp/elsewhere /code/rtl
