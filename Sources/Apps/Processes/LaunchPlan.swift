import Glibc
package import NightshiftAPI

/// The program, environment and limits with which a process is started.
package struct LaunchPlan: Hashable, Sendable {
    package var app: AppID
    /// An absolute path, or a name that is searched in the `PATH` of ``environment``.
    package var program: String
    /// The arguments after the program's name.
    package var arguments: [String]
    /// The complete environment; nothing is added.
    package var environment: [String: String]
    package var directory: String
    /// The file to which both outputs are appended. It is created with its folders if it does not exist.
    package var log: String
    /// The size limit of each half of the log in bytes. At least that many of the last bytes are kept, and at most
    /// twice as many.
    package var logLimit = AppManifest.defaultLogLimit
    /// The umask of the process; nil for that of the service.
    package var fileCreationMask: UInt32?
    /// The soft limit of open descriptors; nil for that of the service.
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

/// An error from starting a program; no process remains.
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

    /// Whether another try cannot succeed. False if the machine was only short of a resource.
    package var isPermanent: Bool {
        switch reason {
        case EAGAIN, ENOMEM, EMFILE, ENFILE, ETXTBSY, ENOSPC, EDQUOT: false
        default: true
        }
    }

    package var description: String { message }
}
