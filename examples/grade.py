"""Grade a model's reply: the example of README.md."""

import rtl_agent as ra

REPLY = """Here is the encoder:

```systemverilog
module edge_detector (input logic clk, rst, d, output logic rise);
endmodule
```
"""


def main() -> None:
    problem = next(one for one in ra.load_problems("bundled") if one.id == "rtl_edge_detector_0001")
    with ra.SyncGrader() as grader:
        grade = grader.grade_reply(problem, REPLY)
    print(grade.outcome, f"{grade.reward.total} of {grade.reward.maximum}")
    for reason in grade.reasons:
        print("*", reason)


if __name__ == "__main__":
    main()
