import Glibc
package import NightshiftAPI

/// What a process is started with.
package struct LaunchPlan: Hashable, Sendable {
    package var app: AppID
    /// An absolute path, or a name that is looked up in the `PATH` of ``environment``.
    package var program: String
    /// Those behind the program.
    package var arguments: [String]
    /// Nothing is added to it.
    package var environment: [String: String]
    package var directory: String
    /// The file to whose end both outputs come; made, with its folders, where there is none.
    package var log: String
    /// Bytes that each half of the log may have: as many of the last are kept at least, and twice as many at most.
    package var logLimit = AppManifest.defaultLogLimit
    /// The umask it gets; that of the service where it is nil.
    package var fileCreationMask: UInt32?
    /// How many descriptors it may have open unless it asks for more; as many as the service where it is nil.
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

/// A program could not be started; nothing of it is left.
package struct LaunchFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error number, where a system call failed.
    package let reason: Int32?
    /// For a person.
    package let message: String

    package init(reason: Int32? = nil, _ message: String) {
        self.reason = reason
        self.message = message
    }

    init(_ what: String, code: Int32) {
        self.init(reason: code, "\(what): \(String(cString: strerror(code)))")
    }

    static func silence(_ path: String) -> LaunchFailure {
        LaunchFailure(reason: EAGAIN, "The file system of \(path) does not answer")
    }

    /// Whether trying again cannot help: not where the machine was merely short of something.
    package var isPermanent: Bool {
        switch reason {
        case EAGAIN, ENOMEM, EMFILE, ENFILE, ETXTBSY, ENOSPC, EDQUOT: false
        default: true
        }
    }

    package var description: String { message }
}
