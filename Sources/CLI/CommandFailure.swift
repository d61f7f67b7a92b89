import NightshiftAPI

/// Why a command ends without having done its work.
struct CommandFailure: Error, Sendable {
    var status: ExitStatus
    /// For a person; holds no credential.
    var message: String
    /// What the service said, where it is the one that refused.
    var problem: Problem?

    static func usage(_ message: String) -> CommandFailure {
        CommandFailure(status: .usage, message: message)
    }

    static func failed(_ message: String) -> CommandFailure {
        CommandFailure(status: .failed, message: message)
    }

    static func unreachable(_ message: String) -> CommandFailure {
        CommandFailure(status: .unreachable, message: message)
    }
}

extension CommandFailure {
    /// A refusal of the service: 400 and 422 are mistakes in what was typed, 503 is a service that cannot work.
    init(_ problem: Problem) {
        let status: ExitStatus =
            switch problem.status {
            case 400, 413, 422: .usage
            case 503: .unreachable
            default: .failed
            }
        self.init(status: status, message: problem.detail ?? problem.title, problem: problem)
    }
}

/// How an error is written with `--json`: problem details (RFC 9457) and the exit code, on standard error.
struct ErrorReport: Encodable {
    var type: String
    var title: String
    var status: Int?
    var detail: String
    var pointer: String?
    var exitCode: Int32

    init(_ failure: CommandFailure) {
        exitCode = failure.status.rawValue
        detail = failure.message
        if let problem = failure.problem {
            type = problem.type
            title = problem.title
            status = problem.status
            pointer = problem.pointer
            return
        }
        switch failure.status {
        case .usage:
            type = "/problems/usage"
            title = "The command line is not valid"
        case .unreachable:
            type = "/problems/unreachable"
            title = "The service does not answer"
        case .whole, .failed, .interrupted:
            type = "/problems/failed"
            title = "The command failed"
        }
    }
}
