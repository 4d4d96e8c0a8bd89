"""The Verilog around a design that is simulated apart from its bench: who plays it there, and who drives it here.

In the bench's simulation a module with the design's name and ports stands in for it. The recorder has the reference
inside and writes down every change of the inputs; the player does so too, and gives the outputs that the design gave.
In the design's simulation the driver repeats the inputs and writes down the outputs.

inputs:   TIME BITS           what stands in the declarations, what is there at time 0, then a line whenever an input
                              changed; the player says when they first differ from those that were foreseen
answers:  N LATER PHASE BITS  outputs after line N of the inputs, LATER by that time; PHASE 0: at once, in the moment
                              of the change; 1: when non-blocking assignments were made
"""

DRIVER = "rtl_agent_driver"


def recorder(bench):
    """Stands in for the design with the reference inside."""
    return _stand_in(bench, bench.module, _inside(bench), "wire", begin='rtl_agent_log = $fopen("inputs", "w");')


def compared(bench, name):
    """Stands in for the reference that the bench compares with.

    It sees the inputs as the recorder and the player do: which of two processes that wait for one edge goes first is
    up to the simulator, and where a bench changes inputs in that moment, the reference must not see others.
    """
    return _stand_in(bench, name, _inside(bench), "wire")


def _inside(bench):
    names = {port.name: _copy(port) if port.is_input else port.name for port in bench.ports if port.connected}
    inside = ", ".join(f".{name}({inner})" for name, inner in names.items())
    given = _settings([(name, name) for name, _ in bench.given])
    return f"  {bench.reference_module}{given} rtl_agent_inside ({inside});\n"


def player(bench):
    """Stands in for the design with what it answered."""
    outs = _together(bench.outputs)
    width = sum(port.width for port in bench.outputs)
    given = max(1, sum(port.width for port in bench.inputs))
    body = f"""
  integer rtl_agent_foreseen;
  reg rtl_agent_differs = 0;
  reg [63:0] rtl_agent_when, rtl_agent_end, rtl_agent_patience;
  reg [{given - 1}:0] rtl_agent_given;
  task rtl_agent_compare;
    if (!rtl_agent_differs && $fscanf(rtl_agent_foreseen, "%d %b", rtl_agent_when, rtl_agent_given) == 2
        && (rtl_agent_when != $time || rtl_agent_given !== {_together(bench.inputs)})) begin
      $fdisplay(rtl_agent_log, "differs %0d", $time);
      rtl_agent_differs = 1;
    end
  endtask
  initial begin
    void'($value$plusargs("rtl_agent_end=%d", rtl_agent_end));
    void'($value$plusargs("rtl_agent_patience=%d", rtl_agent_patience));
    fork
      wait (rtl_agent_differs);
      #(rtl_agent_end);
    join_any
    #(rtl_agent_patience) $fdisplay(rtl_agent_log, "limit %0d", $time);
    $finish(0);
  end
  integer rtl_agent_file, rtl_agent_at = -1, rtl_agent_phase;
  reg [63:0] rtl_agent_later;
  reg [{width - 1}:0] rtl_agent_bits;
  task rtl_agent_next;
    if ($fscanf(rtl_agent_file, "%d %d %d %b", rtl_agent_at, rtl_agent_later, rtl_agent_phase, rtl_agent_bits) != 4)
      rtl_agent_at = -1;
  endtask
  task rtl_agent_answer;
    while (rtl_agent_at >= 0 && rtl_agent_at <= rtl_agent_count) begin
      if (rtl_agent_later != 0) {outs} <= #(rtl_agent_later) rtl_agent_bits;
      else if (rtl_agent_phase == 0) {outs} = rtl_agent_bits;
      else {outs} <= rtl_agent_bits;
      rtl_agent_next;
    end
  endtask
"""
    begin = """rtl_agent_log = $fopen("inputs", "w");
    rtl_agent_file = $fopen("answers", "r");
    rtl_agent_foreseen = $fopen("foreseen", "r");
    void'($fscanf(rtl_agent_foreseen, "%d %b", rtl_agent_when, rtl_agent_given));
    rtl_agent_next;"""
    return _stand_in(bench, bench.module, body, "reg", begin=begin, then="rtl_agent_compare; rtl_agent_answer;")


def _stand_in(bench, name, body, kind, *, begin="", then=""):
    """A module with the design's ports that notices every change of the inputs; `begin` opens a log of them."""
    ports = ", ".join(
        f"{'input' if port.is_input else f'output {kind}'}{' signed' if port.signed else ''} {_range(port)}{port.name}"
        for port in bench.ports
    )
    parameters = ", ".join(f"parameter {name} = {value}" for name, value in bench.given)
    # What the bench's declarations say stands in the copies from the start; what its processes assign at time 0 is a
    # change, which a reset that waits for an edge has to see.
    copies = "\n".join(f"  reg {_range(port)}{_copy(port)} = {port.name};" for port in bench.inputs)
    line = '$fdisplay(rtl_agent_log, "%0d %b", $time, {' + (", ".join(map(_copy, bench.inputs)) or "1'b0") + "});"
    note = [f"{_copy(port)} = {port.name};" for port in bench.inputs] + ([line] if begin else [])
    wait = " or ".join(port.name for port in bench.inputs)
    again = f"forever @({wait}) rtl_agent_note;" if wait else ""
    return f"""`timescale {bench.precision}/{bench.precision}
module {name}{f" #({parameters})" if parameters else ""} ({ports});
  integer rtl_agent_log, rtl_agent_count = 0;
{copies}
{body}
  task rtl_agent_note;
    begin
      rtl_agent_count = rtl_agent_count + 1;
      {" ".join(note)}
      {then}
    end
  endtask
  initial begin
    {begin}
    {line if begin else ""}
    #0 rtl_agent_note;
    {again}
  end
  {'final $fdisplay(rtl_agent_log, "end %0d", $time);' if begin else ""}
endmodule
"""


def _copy(port):
    return f"rtl_agent_in_{port.name}"


def driver(bench, first):
    """Drives the design with a bench's inputs; `first` are the bits that they begin with."""
    declared, at = [], 0
    for port in bench.inputs:
        bits = first[at : at + port.width]
        declared.append(f"  reg {_range(port)}in_{port.name} = {port.width}'b{bits};")
        at += port.width
    declared += [f"  wire {_range(port)}out_{port.name};" for port in bench.outputs]
    names = {port.name: f"in_{port.name}" for port in bench.inputs}
    names |= {port.name: f"out_{port.name}" for port in bench.outputs}
    if bench.by_order:
        connections = ", ".join(names.get(port.name, "") for port in bench.ports)
    else:
        connections = ", ".join(f".{name}({inner})" for name, inner in names.items())
    outs = "{" + ", ".join(f"out_{port.name}" for port in bench.outputs) + "}"
    changed = " or ".join(f"out_{port.name}" for port in bench.outputs)
    width = max(1, sum(port.width for port in bench.inputs))
    lines = "\n".join(declared)
    now, soon = _each(bench.inputs, "="), _each(bench.inputs, "<=")
    return f"""
`timescale {bench.precision}/{bench.precision}
module {DRIVER};
{lines}
  reg later = 0;
  {bench.module}{_settings(bench.given, bench.parameters_by_order)} dut ({connections});
  integer inputs, answers, count = 0, planned = 0, settled = -1;
  reg [63:0] moment, last;
  reg [{width - 1}:0] bits;
  always @(count) settled <= count;
  task note;
    $fdisplay(answers, "%0d %0d %0d %b", count, $time, settled === count, {outs});
  endtask
  initial begin
    answers = $fopen("answers", "w");
    #0 note;
    settled <= 0;
    forever @({changed}) note;
  end
  initial begin
    inputs = $fopen("inputs", "r");
    void'($value$plusargs("rtl_agent_end=%d", last));
    void'($fscanf(inputs, "%d %b", moment, bits));
    #0;
    while ($fscanf(inputs, "%d %b", moment, bits) == 2) begin
      planned = planned + 1;
      if (moment > $time) begin
        #(moment - $time);
        later = 0;
      end
      if (!later) begin
        {now}
        count = planned;
      end else begin
        if (count != planned - 1) @(count);
        {soon}
        count <= planned;
      end
      later = 1;
    end
    if (last > $time) #(last - $time);
    #1 $fdisplay(answers, "end");
    $finish(0);
  end
endmodule
"""


def _each(ports, assigns):
    """One after the other, in the order of the ports, as a stand-in does it; the first has the highest bits."""
    words, at = [], sum(port.width for port in ports)
    for port in ports:
        words.append(f"in_{port.name} {assigns} bits[{at - 1}:{at - port.width}];")
        at -= port.width
    return " ".join(words)


def _range(port):
    return f"[{port.width - 1}:0] " if port.width > 1 else ""


def _together(ports):
    return "{" + ", ".join(port.name for port in ports) + "}" if ports else "1'b0"


def _settings(given, by_order=False):
    if not given:
        return ""
    return " #(" + ", ".join(value if by_order else f".{name}({value})" for name, value in given) + ")"
