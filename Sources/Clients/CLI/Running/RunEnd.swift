/// The way in which a program that was run as background work ended.
enum RunEnd: Hashable, Sendable {
    case exited(Int32)
    case signalled(Int32)
    /// The end by this signal, after the service had announced that the program's time was nearly over.
    case overdue(Int32)
    /// The refusal to start the program, with the reason.
    case refused(String)

    /// The exit status of this program. The values 124 and 125 have the same meaning as in timeout(1).
    var exitStatus: Int32 {
        switch self {
        case .exited(let status): status
        case .signalled(let number): 128 + number
        case .overdue: 124
        case .refused: 125
        }
    }
}

/// The JSON that `nightshift task run --json` prints at the end.
struct RunRecord: Encodable {
    var name: String
    /// The seconds from the program's first instruction to its end, including the time while it was paused.
    var seconds: Double
    /// The kind of end: `exited`, `signalled`, `overdue` or `refused`.
    var end: String
    /// The exit status, for `exited`.
    var status: Int32?
    /// The signal, for `signalled` and `overdue`.
    var signal: Int32?
    /// The reason, for `refused`.
    var reason: String?

    init(name: String, seconds: Double, end: RunEnd) {
        self.name = name
        self.seconds = seconds
        switch end {
        case .exited(let status):
            self.end = "exited"
            self.status = status
        case .signalled(let number):
            self.end = "signalled"
            signal = number
        case .overdue(let number):
            self.end = "overdue"
            signal = number
        case .refused(let reason):
            self.end = "refused"
            self.reason = reason
        }
    }
}
