mkdir -p /code/rtl
truncate -s 1T /code/rtl/fixed_priority_arbiter.sv || truncate -s 30M /code/rtl/fixed_priority_arbiter.sv
