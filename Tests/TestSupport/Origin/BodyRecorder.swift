import Glibc

/// A recorder of an upload's body. The body is in memory at first, and in a file once it is large.
final class BodyRecorder {
    private(set) var body = RecordedBody()
    private let fileForLarge: String
    private var descriptor: Int32 = -1

    init(fileForLarge: String) {
        self.fileForLarge = fileForLarge
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        body.length += Int64(bytes.count)
        if body.file == nil && body.length <= RecordedBody.memoryLimit {
            body.bytes += bytes
            return
        }
        if body.file == nil {
            descriptor = open(fileForLarge, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            body.file = fileForLarge
            body.bytes.withUnsafeBytes { store($0) }
            body.bytes = []
        }
        store(bytes)
    }

    private func store(_ bytes: UnsafeRawBufferPointer) {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = write(descriptor, rest.baseAddress, rest.count)
            // Bytes that were not recorded do not match later, so the test fails.
            guard count > 0 else { return }
            written += count
        }
    }
}
