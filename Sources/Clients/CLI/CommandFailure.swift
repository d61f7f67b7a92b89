import NightshiftAPI

/// An error that ends a command without success.
struct CommandFailure: Error, Sendable {
    var status: ExitStatus
    /// The error message for people. It contains no credential.
    var message: String
    /// The service's refusal, if the service refused the request.
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
    /// Creates the failure for a refusal by the service. The exit code is for a mistake in the command line if the
    /// status is 400, 413 or 422, and for an unreachable service if it is 503.
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

/// An error as `--json` prints it on standard error: problem details (RFC 9457) and the exit code.
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
