mkdir -p /code/rtl && printf 'module fixed_priority_arbiter; endmodule\n' > /code/rtl/fixed_priority_arbiter.sv

ls -laR /src /code /opt/rtl-agent/probe /work /home /root 2>/dev/null | grep -E "test_runner|test_fixed|harness_library|docker-compose|reference" && echo FOUND
grep -rl lowest_request_wins /src /code /opt/rtl-agent/probe /tmp /etc /run 2>/dev/null | grep -v agent.sh | grep . && echo FOUND
cat @CANARY@ && echo FOUND
env | grep -iE "token|secret|key=|password|channel" && echo FOUND
echo over
