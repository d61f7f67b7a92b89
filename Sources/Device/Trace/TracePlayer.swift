import CNightshift
import Glibc
import NightshiftAPI

/// The thread that plays a trace in real time, and publishes reports on the channel.
struct TracePlayer {
    let board: ReportChannel
    let trace: DeviceTrace

    func run() {
        let beginning = now
        var polled = [pollfd(fd: board.descriptor, events: Int16(POLLIN), revents: 0)]
        while !board.takeWishes().isEnded {
            let seconds = now - beginning
            board.publish([trace.reading(at: seconds)], isSettled: true)
            let deadline = trace.next(after: seconds).map { beginning + $0 }
            let count = poll(&polled, 1, PollTimeout.milliseconds(until: deadline, now: now))
            guard count >= 0 || errno == EINTR else { return }
        }
    }

    private var now: Double { Double(nightshift_awake_nanoseconds()) / 1e9 }
}
