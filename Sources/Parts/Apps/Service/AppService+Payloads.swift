import Foundation
import Glibc
import Logging
import NightshiftAPI
import Store

/// The files from which programs read the payloads of their wakes. The service uses files because payloads can be
/// private, and other programs could read an environment or arguments.
extension AppService {
    /// Writes the payloads of the wakes for which a program is launched, in order.
    ///
    /// - Returns: the file's path; nil if no wake has a payload.
    /// - Throws: ``LaunchFailure`` if the file cannot be written. A program launched without the file would do nothing
    ///   and exit successfully.
    func writePayloads(of id: AppID, _ wakes: [WantedWake]) throws(LaunchFailure) -> String? {
        let payloads = wakes.filter { $0.source.rules.handover == .payloads }.compactMap(\.payload)
        guard !payloads.isEmpty else { return nil }
        let path = payloadPath(id)
        guard mkdir(payloadFolder, 0o700) == 0 || errno == EEXIST else {
            throw LaunchFailure(payloadFolder, code: errno)
        }
        // This deletes the file of an earlier process.
        unlink(path)
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw LaunchFailure(path, code: errno) }
        payloadFiles.insert(id)
        defer { Glibc.close(descriptor) }
        // Each payload is JSON in the form in which its feature stored it.
        let text = [UInt8](Data("[".utf8) + Data(payloads.joined(separator: Data(",".utf8))) + Data("]\n".utf8))
        var written = 0
        while written < text.count {
            let count = text[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 || errno == EINTR else { throw LaunchFailure(path, code: errno) }
            written += max(0, count)
        }
        return path
    }

    /// Deletes the payload file of an app when its process has completed the wakes in the file, or has ended.
    func removePayloads(of id: AppID) {
        guard payloadFiles.contains(id), machines[id]?.hasPayloads != true else { return }
        unlink(payloadPath(id))
        payloadFiles.remove(id)
    }

    /// Keeps the payload file of an adopted process, because the process may still read it.
    func adoptPayloads(of id: AppID) {
        if machines[id]?.hasPayloads == true { payloadFiles.insert(id) }
    }

    /// Deletes the files of processes that are gone, left by previous runs of the service.
    func removeStalePayloads() {
        let kept = Set(payloadFiles.map(\.fileName))
        for name in (try? FileManager.default.contentsOfDirectory(atPath: payloadFolder)) ?? []
        where !kept.contains(name) {
            unlink(payloadFolder + name)
        }
    }

    private var payloadFolder: String {
        environment.paths.runtime.appending(path: "payloads", directoryHint: .isDirectory).path(percentEncoded: false)
    }

    private func payloadPath(_ id: AppID) -> String { payloadFolder + id.fileName }
}

extension AppMachine {
    /// Whether a program may still read the payloads of its wakes from a file.
    fileprivate var hasPayloads: Bool {
        begun.contains { $0.wake.source.rules.handover == .payloads } || mayReadChoices
    }
}
