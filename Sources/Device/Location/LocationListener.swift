import CNightshift
import Glibc
import NightshiftAPI

/// The thread that asks the sources of places, and tells the board.
final class LocationListener {
    private let board: LocationBoard
    private let configuration: LocationConfiguration
    private var machine: LocationMachine
    private var wishes = 0

    init(board: LocationBoard, configuration: LocationConfiguration) {
        self.board = board
        self.configuration = configuration
        machine = LocationMachine(word: board.takeOrders().place)
    }

    func run() {
        perform(machine.begin(now: now))
        var polled = [pollfd(fd: board.descriptor, events: Int16(POLLIN), revents: 0)]
        while takeOrders() {
            let count = poll(&polled, 1, -1)
            guard count >= 0 || errno == EINTR else { return }
        }
    }

    private func takeOrders() -> Bool {
        let orders = board.takeOrders()
        guard !orders.isEnded else { return false }
        perform(machine.setPlace(orders.place, now: now))
        if orders.wishes != wishes {
            wishes = orders.wishes
            perform(machine.want(orders.wish, now: now))
        }
        return true
    }

    private func perform(_ actions: [LocationMachine.Action]) {
        for case .tell(let update) in actions { board.tell(update) }
    }

    private var now: Double { Double(nightshift_boot_nanoseconds()) / 1e9 }
}
