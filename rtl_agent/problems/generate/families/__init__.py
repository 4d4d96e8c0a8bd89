"""Every family, by name: those that are trained on, held out whole, or longer than the models were taught."""

from rtl_agent.problems.generate.families.alu import Alu
from rtl_agent.problems.generate.families.arbiter import Arbiter
from rtl_agent.problems.generate.families.clamped_sum import ClampedSum
from rtl_agent.problems.generate.families.comparator import Comparator
from rtl_agent.problems.generate.families.counter import Counter
from rtl_agent.problems.generate.families.decoder import Decoder
from rtl_agent.problems.generate.families.edge_detector import EdgeDetector
from rtl_agent.problems.generate.families.gray import Gray
from rtl_agent.problems.generate.families.longer import LongAlu, LongMux, LongSequenceDetector
from rtl_agent.problems.generate.families.mux import Mux
from rtl_agent.problems.generate.families.occupancy import Occupancy
from rtl_agent.problems.generate.families.parity import Parity
from rtl_agent.problems.generate.families.priority_encoder import PriorityEncoder
from rtl_agent.problems.generate.families.sequence_detector import SequenceDetector
from rtl_agent.problems.generate.families.shift_register import ShiftRegister
from rtl_agent.problems.generate.families.stretcher import Stretcher
from rtl_agent.problems.generate.families.timer import Timer
from rtl_agent.problems.generate.family import AnyFamily

_FAMILIES: tuple[AnyFamily, ...] = (
    *(Arbiter(), Counter(), Mux(), Decoder(), Gray(), EdgeDetector()),
    *(ShiftRegister(), Parity(), Alu(), SequenceDetector(), Comparator(), Occupancy()),
    *(ClampedSum(), PriorityEncoder(), Stretcher(), Timer()),  # held out whole
    *(LongAlu(), LongMux(), LongSequenceDetector()),  # drawn where they are named
)
FAMILIES: dict[str, AnyFamily] = {family.name: family for family in _FAMILIES}
