import Executors
import NightshiftClient

extension WorkQueue: CallQueue {}
