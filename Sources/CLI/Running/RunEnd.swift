/// How a program that was run as background work ended.
enum RunEnd: Hashable, Sendable {
    case exited(Int32)
    case signalled(Int32)
    /// By this signal, after the service had said that its time was nearly over.
    case overdue(Int32)
    /// It never began.
    case refused(String)

    /// What this program exits with; 124 and 125 as timeout(1) has them.
    var exitStatus: Int32 {
        switch self {
        case .exited(let status): status
        case .signalled(let number): 128 + number
        case .overdue: 124
        case .refused: 125
        }
    }
}

/// What `nightshift task run --json` says behind everything.
struct RunRecord: Encodable {
    var name: String
    /// From its first instruction to its end, with the time that it stood still.
    var seconds: Double
    /// `exited`, `signalled`, `overdue` or `refused`.
    var end: String
    /// For `exited`.
    var status: Int32?
    /// For `signalled` and `overdue`.
    var signal: Int32?
    /// For `refused`.
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
