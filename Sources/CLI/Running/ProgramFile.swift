import CDispatch  // where it is loaded too, the compiler counts stat(2) as its own
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The file that a command's first word names, as a shell finds it.
enum ProgramFile: Hashable, Sendable {
    /// An absolute path.
    case found(String)
    /// There is one, and nobody may run it.
    case notRunnable(String)
    case missing

    /// - Throws: ``CommandFailure`` where the word is a relative path and there is no working directory.
    init(_ word: String, in invocation: Invocation) throws {
        if word.contains("/") {
            self = Self.inspect(try invocation.absolute(word))
            return
        }
        var result = ProgramFile.missing
        for folder in (invocation.environment["PATH"] ?? "/usr/bin:/bin").split(
            separator: ":", omittingEmptySubsequences: false)
        {
            // An empty entry is the current directory (POSIX, section 8.3).
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
