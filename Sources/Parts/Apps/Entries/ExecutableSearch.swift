import CDispatch  // for stat(2), which the compiler attributes to CDispatch wherever that module is loaded
import Glibc
import Mounts

/// A search for programs as in a shell: by path, or by name in the folders of `PATH`.
struct ExecutableSearch: Sendable {
    private let folders: [Substring]
    private let fileSystems: FileSystems

    /// The path that exec(3) uses by default if `PATH` is not set.
    private static let usual = "/usr/local/bin:/usr/bin:/bin"

    init(environment: [String: String], fileSystems: FileSystems) {
        self.fileSystems = fileSystems
        folders = (environment["PATH"] ?? Self.usual).split(separator: ":")
    }

    /// The outcome of a search.
    enum Found: Hashable {
        case program(String)
        case nothing
        /// The search failed because the file system of this path does not respond.
        case silence(String)
    }

    /// Returns the absolute path of a program, if the file may be executed.
    func find(_ program: String) -> Found {
        if program.hasPrefix("/") { return find(at: program) }
        guard !program.isEmpty, !program.contains("/") else { return .nothing }
        for folder in folders where folder.hasPrefix("/") {
            let found = find(at: "\(folder)/\(program)")
            if found != .nothing { return found }
        }
        return .nothing
    }

    private func find(at path: String) -> Found {
        guard let isExecutable = fileSystems.answer(path, { Self.isExecutable(path) }) else { return .silence(path) }
        return isExecutable ? .program(path) : .nothing
    }

    /// Returns the path of the program as in ``find(_:)``; nil if there is no such program or its file system does not
    /// respond.
    func path(of program: String) -> String? {
        if case .program(let path) = find(program) { path } else { nil }
    }

    /// Returns the reason why a search for a program finds nothing, without a period.
    func absence(of program: String) -> String {
        program.contains("/")
            ? "The program '\(program)' does not exist or cannot be executed"
            : "The program '\(program)' is in no folder of the service's PATH (\(folders.joined(separator: ":")))"
    }

    /// Whether the file at `path`, after resolving symbolic links, is an interpreter. The program file of an
    /// interpreter does not identify an app.
    func isInterpreter(_ path: String) -> Bool {
        let name = String((resolved(path) ?? path).split(separator: "/").last ?? "")
        // Many names of interpreters include a version, such as python3.11, perl5.36 and lua5.4.
        return Self.interpreters.contains(String(name.prefix { !$0.isNumber }))
    }

    private static let interpreters: Set = [
        "sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "env", "python", "pypy", "perl", "ruby", "node",
        "nodejs", "deno", "bun", "java", "lua", "luajit", "php", "mono", "dotnet", "guile", "tclsh", "wish", "gjs",
        "electron",
        "flatpak", "snap", "bwrap", "swift",
    ]

    /// Returns the path with all symbolic links resolved; nil if no file exists there or its file system does not
    /// respond.
    func resolved(_ path: String) -> String? {
        fileSystems.answer(path) { () -> String? in
            guard let pointer = realpath(path, nil) else { return nil }
            defer { free(pointer) }
            return String(cString: pointer)
        } ?? nil
    }

    /// Returns the identity of the file at a path; nil if no file exists there or its file system does not respond.
    func identity(of path: String) -> ExecutableIdentity? {
        fileSystems.answer(path) { ExecutableIdentity(of: path) } ?? nil
    }

    private static func isExecutable(_ path: String) -> Bool {
        var information = stat()
        return stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
}

/// The device and inode of a file.
struct ExecutableIdentity: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64

    /// Creates the identity of the file to which the path leads, after following symbolic links; nil if the file does
    /// not exist.
    init?(of path: String) {
        var information = stat()
        guard stat(path, &information) == 0 else { return nil }
        device = UInt64(information.st_dev)
        inode = UInt64(information.st_ino)
    }
}
