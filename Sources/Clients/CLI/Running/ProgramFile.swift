import CDispatch  // Without this import, the compiler attributes stat(2) to CDispatch where that is loaded.
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The executable file of a command, found by the rules of a shell.
enum ProgramFile: Hashable, Sendable {
    /// The absolute path of the file.
    case found(String)
    /// A file that exists but is not executable.
    case notRunnable(String)
    case missing

    /// Searches for the file of a command.
    ///
    /// - Throws: ``CommandFailure`` if the word is a relative path and the working directory does not exist.
    init(_ word: String, in invocation: Invocation) throws {
        if word.contains("/") {
            self = Self.inspect(try invocation.absolute(word))
            return
        }
        var result = ProgramFile.missing
        for folder in (invocation.environment["PATH"] ?? "/usr/bin:/bin").split(
            separator: ":", omittingEmptySubsequences: false)
        {
            // An empty entry means the current directory (POSIX, section 8.3).
            guard let path = try? invocation.absolute((folder.isEmpty ? "." : folder) + "/" + word) else { continue }
            switch Self.inspect(path) {
            case .found(let path):
                self = .found(path)
                return
            case .notRunnable(let path): if result == .missing { result = .notRunnable(path) }
            case .missing: break
            }
        }
        self = result
    }

    private static func inspect(_ path: String) -> ProgramFile {
        var information = stat()
        guard stat(path, &information) == 0 else { return .missing }
        let isFile = information.st_mode & S_IFMT == S_IFREG
        return isFile && access(path, X_OK) == 0 ? .found(path) : .notRunnable(path)
    }
}
