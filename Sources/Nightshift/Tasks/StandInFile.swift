import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The file that resume data names in `NSTemporaryDirectory()`, where apps look for it: they ask whether it is there and how long it
/// is, move it to a safe place and back, and begin at 0 where it is missing.
///
/// As long as what has come, and without a byte of it: the bytes stay with the service, whose file nobody else can change. A copy
/// would cost time and space that a pause must not cost, in a directory that is often memory; a hard link would let the app write
/// into what the service goes on with. Nothing is ever read from it.
struct StandInFile {
    /// As the resume data says it.
    let name: String

    init(token: String) {
        name = "CFNetworkDownload_\(token).tmp"
    }

    var path: String { NSTemporaryDirectory() + name }

    func place(size: Int64) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        // There from an earlier delivery of the same end; or no directory to put it in, which the download does not need.
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        if ftruncate(descriptor, off_t(max(0, size))) != 0 { unlink(path) }
    }

    func remove() {
        unlink(path)
    }
}
