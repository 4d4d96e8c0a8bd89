"""A reward term of one's own: designs in which Yosys infers a latch lose 0.2.

A package would bring it with an entry point, so that `rtl-agent train reward=staged,latches=-0.2` finds it:

    [project.entry-points."rtl_agent.reward_terms"]
    latches = "latch_penalty:latches"
"""

import rtl_agent as ra


@ra.REWARD_TERMS.register("latches")
async def latches(judged: ra.JudgedSubmission) -> float:
    """1 if there is a latch, else 0."""
    files = " ".join(path for path in judged.submission.files if path.endswith((".v", ".sv")))
    done = await judged.run(["yosys", "-p", f"read_verilog -sv {files}; proc"])
    return float(b"Latch inferred" in done.stdout)


LATCH = """
    logic kept;
    always_latch if (mode[0]) kept = data_in[0];
endmodule"""


def main() -> None:
    problem = next(one for one in ra.load_problems("bundled") if one.id == "rtl_barrel_shifter_0001")
    assert problem.reference is not None
    (path, right), *_ = problem.reference.items()
    latched = right.replace("\nendmodule", LATCH, 1)
    with ra.SyncGrader(weights=ra.parse_weights("staged,latches=-0.2")) as grader:
        for name, text in (("without a latch", right), ("with a latch", latched)):
            reward = grader.grade(problem, ra.submit(problem, {path: text})).reward
            print(f"{name}: {reward.total} of {reward.maximum}")


if __name__ == "__main__":
    main()
