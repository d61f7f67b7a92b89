import Glibc
package import NightshiftAPI

/// The program, environment and limits with which a process is started.
package struct LaunchPlan: Hashable, Sendable {
    package var app: AppID
    /// The absolute path of the program, or a name to search in the `PATH` of ``environment``.
    package var program: String
    /// The arguments after the program's name.
    package var arguments: [String]
    /// The complete environment. The service does not add variables to it.
    package var environment: [String: String]
    package var directory: String
    /// The file to which standard output and standard error are appended. The file and its folders are created if they
    /// do not exist.
    package var log: String
    /// The size limit of each half of the log in bytes. The log contains at least that many of the last bytes, and at
    /// most twice as many.
    package var logLimit = AppManifest.defaultLogLimit
    /// The umask of the process; nil for the service's umask.
    package var fileCreationMask: UInt32?
    /// The soft limit of open descriptors; nil for the service's limit.
    package var openFiles: UInt64?

    package init(
        app: AppID, program: String, arguments: [String] = [], environment: [String: String], directory: String,
        log: String
    ) {
        self.app = app
        self.program = program
        self.arguments = arguments
        self.environment = environment
        self.directory = directory
        self.log = log
    }
}

/// The error of a failed start of a program. The process no longer exists.
package struct LaunchFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The errno of the system call that failed, if one did.
    package let reason: Int32?
    /// The message for people.
    package let message: String

    package init(reason: Int32? = nil, _ message: String) {
        self.reason = reason
        self.message = message
    }

    init(_ what: String, code: Int32) {
        self.init(reason: code, "\(what): \(String(cString: strerror(code)))")
    }

    static func silence(_ path: String) -> LaunchFailure {
        LaunchFailure(reason: EAGAIN, "The file system of \(path) does not respond")
    }

    /// Whether another attempt would fail too. False if the machine was only short of a resource.
    package var isPermanent: Bool {
        switch reason {
        case EAGAIN, ENOMEM, EMFILE, ENFILE, ETXTBSY, ENOSPC, EDQUOT: false
        default: true
        }
    }

    package var description: String { message }
}
