// A small tokenizer for SystemVerilog, line by line: enough for colours.

export type Kind = "comment" | "string" | "number" | "keyword" | "directive" | "plain";

const KEYWORDS = new Set(
  ("module endmodule input output inout wire reg logic bit integer int real time parameter localparam assign always always_ff always_comb always_latch initial begin end if else case casez casex " +
    "endcase default for while repeat forever generate endgenerate genvar function endfunction task endtask posedge negedge or and not signed unsigned typedef enum struct packed union " +
    "package endpackage import interface endinterface modport return unique priority automatic void assert property sequence inside byte shortint longint const static").split(" "),
);
const PIECE = /\/\/.*|\/\*[\s\S]*?(?:\*\/|$)|"(?:\\.|[^"\\])*"?|`[A-Za-z_]\w*|(?:\d+\s*)?'[sS]?[bodhBODH][0-9a-fA-FxXzZ_?]+|\d[\d_.]*|[A-Za-z_$][\w$]*|[^\w"`'$/]+|[\s\S]/g;

export function tokens(line: string, inComment: boolean): [Kind, string][] {
  const out: [Kind, string][] = [];
  let rest = line;
  if (inComment) {
    const end = line.indexOf("*/");
    if (end < 0) return [["comment", line]];
    out.push(["comment", line.slice(0, end + 2)]);
    rest = line.slice(end + 2);
  }
  for (const [piece] of rest.matchAll(PIECE)) out.push([kindOf(piece), piece]);
  return out;
}

function kindOf(piece: string): Kind {
  if (piece.startsWith("//") || piece.startsWith("/*")) return "comment";
  if (piece.startsWith('"')) return "string";
  if (piece.startsWith("`")) return "directive";
  if (/^[\d']/.test(piece) && piece.length > 0 && /\d/.test(piece)) return "number";
  return KEYWORDS.has(piece) ? "keyword" : "plain";
}

/** For each line, whether it starts within a block comment. */
export function commentStarts(lines: string[]): boolean[] {
  let inside = false;
  return lines.map((line) => {
    const starts = inside;
    let at = 0;
    for (;;) {
      const next = line.indexOf(inside ? "*/" : "/*", at);
      if (next < 0) break;
      const slashes = inside ? -1 : line.indexOf("//", at);
      if (slashes >= 0 && slashes < next) break;
      inside = !inside;
      at = next + 2;
    }
    return starts;
  });
}
