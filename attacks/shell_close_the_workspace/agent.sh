mkdir -p /code/rtl && printf 'module fixed_priority_arbiter; endmodule\n' > /code/rtl/fixed_priority_arbiter.sv

rm -rf /code/rundir /code/docs /code/verif
chmod 000 /code /tmp
echo over
