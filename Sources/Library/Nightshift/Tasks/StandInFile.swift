import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A placeholder for the file that resume data names in `NSTemporaryDirectory()`. Apps look for this file in that
/// folder: they check whether it exists and how long it is, move it to a safe folder and back, and restart the download
/// if it is missing.
///
/// The placeholder has the length of the received data but contains none of it, and is never read. The bytes remain
/// with the service, in a file that no other program can change. A copy of the bytes would take time and disk space
/// whenever a download is paused, in a directory that is often in memory. With a hard link, the app could write into
/// the file that the service continues.
struct StandInFile {
    /// The file name in the resume data.
    let name: String

    init(token: String) {
        name = "CFNetworkDownload_\(token).tmp"
    }

    var path: String { NSTemporaryDirectory() + name }

    func place(size: Int64) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        // Either the file exists because the same end of the download was delivered before, or it cannot be created.
        // The download works without the file.
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        if ftruncate(descriptor, off_t(max(0, size))) != 0 { unlink(path) }
    }

    func remove() {
        unlink(path)
    }
}
