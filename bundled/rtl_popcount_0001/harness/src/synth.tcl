# Generic synthesis of the flattened design; the last statistics in the log are the ones that count.
read_verilog -sv /code/rtl/popcount.sv
hierarchy -check -top popcount
synth -flatten -top popcount
clean
stat
