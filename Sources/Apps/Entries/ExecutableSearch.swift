import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Glibc

/// Finds programs as a shell does: by their path, or by their name in the folders of `PATH`.
struct ExecutableSearch: Sendable {
    private let folders: [Substring]

    /// What exec(3) takes where there is no `PATH`.
    private static let usual = "/usr/local/bin:/usr/bin:/bin"

    init(environment: [String: String]) {
        folders = (environment["PATH"] ?? Self.usual).split(separator: ":")
    }

    /// The absolute path of a program; nil where there is none that may be executed.
    func path(of program: String) -> String? {
        if program.hasPrefix("/") { return Self.isExecutable(program) ? program : nil }
        guard !program.isEmpty, !program.contains("/") else { return nil }
        return folders.lazy.filter { $0.hasPrefix("/") }.map { "\($0)/\(program)" }.first(where: Self.isExecutable)
    }

    /// Whether the file at `path`, symbolic links followed, runs what others have written: which app a process is of
    /// cannot be told from it.
    static func isInterpreter(_ path: String) -> Bool {
        let name = String((Self.resolved(path) ?? path).split(separator: "/").last ?? "")
        // Versions are part of many names: python3.11, perl5.36, lua5.4.
        return interpreters.contains(String(name.prefix { !$0.isNumber }))
    }

    private static let interpreters: Set = [
        "sh", "bash", "dash", "zsh", "ksh", "fish", "busybox", "env", "python", "pypy", "perl", "ruby", "node",
        "nodejs", "deno", "bun", "java", "lua", "luajit", "php", "mono", "dotnet", "guile", "tclsh", "wish", "gjs",
        "electron",
        "flatpak", "snap", "bwrap", "swift",
    ]

    /// The path without symbolic links; nil where there is nothing.
    static func resolved(_ path: String) -> String? {
        guard let pointer = realpath(path, nil) else { return nil }
        defer { free(pointer) }
        return String(cString: pointer)
    }

    private static func isExecutable(_ path: String) -> Bool {
        var information = stat()
        return stat(path, &information) == 0 && information.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
}

/// Which file a path leads to.
struct FileIdentity: Hashable {
    let device: UInt64
    let inode: UInt64

    /// Follows symbolic links; nil where there is nothing.
    init?(of path: String) {
        var information = stat()
        guard stat(path, &information) == 0 else { return nil }
        device = UInt64(information.st_dev)
        inode = UInt64(information.st_ino)
    }
}
