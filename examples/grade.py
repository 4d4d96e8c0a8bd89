"""Grade a model's reply."""

import rtl_agent as ra

problem = ra.load_problems("bundled")[0]
reply = "```systemverilog\nmodule axi_stream_skid_buffer (input logic clk);\nendmodule\n```"

with ra.SyncGrader(jobs=8) as grader:
    grade = grader.grade_reply(problem, reply)

print(grade.outcome, f"{grade.reward.total} of {grade.reward.maximum}")
for reason in grade.reasons[:3]:
    print("*", reason)
