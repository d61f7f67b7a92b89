import CDispatch  // stat(2): the compiler attributes it to CDispatch wherever that module is loaded
import Glibc
import Mounts

/// Finds programs as a shell does: by path, or by name in the folders of `PATH`.
struct ExecutableSearch: Sendable {
    private let folders: [Substring]
    private let fileSystems: FileSystems

    /// The default path of exec(3) when `PATH` is not set.
    private static let usual = "/usr/local/bin:/usr/bin:/bin"

    init(environment: [String: String], fileSystems: FileSystems) {
        self.fileSystems = fileSystems
        folders = (environment["PATH"] ?? Self.usual).split(separator: ":")
    }

    /// The outcome of a search.
    enum Found: Hashable {
        case program(String)
        case nothing
        /// The file system of this path does not respond.
        case silence(String)
    }

    /// Returns the absolute path of a program that may be executed.
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

    /// Returns the path of the program as in ``find(_:)``; nil also if its file system does not respond.
    func path(of program: String) -> String? {
        if case .program(let path) = find(program) { path } else { nil }
    }

    /// Whether the file at `path`, after symbolic links, is an interpreter. The app of a process cannot be derived from
    /// an interpreter.
    func isInterpreter(_ path: String) -> Bool {
        let name = String((resolved(path) ?? path).split(separator: "/").last ?? "")
        // Many names include a version: python3.11, perl5.36, lua5.4.
        return Self.interpreters.contains(String(name.prefix { !$0.isNumber }))
    }

    private static let interpreters: Set = [
        "sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "env", "python", "pypy", "perl", "ruby", "node",
        "nodejs", "deno", "bun", "java", "lua", "luajit", "php", "mono", "dotnet", "guile", "tclsh", "wish", "gjs",
        "electron",
        "flatpak", "snap", "bwrap", "swift",
    ]

    /// Returns the path without symbolic links; nil if nothing exists there, or its file system does not respond.
    func resolved(_ path: String) -> String? {
        fileSystems.answer(path) { () -> String? in
            guard let pointer = realpath(path, nil) else { return nil }
            defer { free(pointer) }
            return String(cString: pointer)
        } ?? nil
    }

    /// Returns the identity of the file at a path; nil in the same cases as for ``resolved(_:)``.
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

    /// Follows symbolic links; nil if the file does not exist.
    init?(of path: String) {
        var information = stat()
        guard stat(path, &information) == 0 else { return nil }
        device = UInt64(information.st_dev)
        inode = UInt64(information.st_ino)
    }
}
