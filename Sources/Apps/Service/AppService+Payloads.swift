import Foundation
import Glibc
import Logging
import NightshiftAPI
import Store

/// The files from which programs read what they were launched for. Payloads can be private: they are in no environment and
/// no arguments, which other programs can read.
extension AppService {
    /// Writes the payloads of wakes that a program is launched for, in their order.
    ///
    /// - Returns: the file's path; nil where no wake has one.
    /// - Throws: ``LaunchFailure``: a program that is launched without would do nothing, and say that it is done.
    func writePayloads(of id: AppID, _ wakes: [WantedWake]) throws(LaunchFailure) -> String? {
        let payloads = wakes.filter { $0.source.handover == .payloads }.compactMap(\.payload)
        guard !payloads.isEmpty else { return nil }
        let path = payloadPath(id)
        guard mkdir(payloadFolder, 0o700) == 0 || errno == EEXIST else {
            throw LaunchFailure(payloadFolder, code: errno)
        }
        // Of a process that is gone.
        unlink(path)
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw LaunchFailure(path, code: errno) }
        payloadFiles.insert(id)
        defer { Glibc.close(descriptor) }
        // Each is JSON as its part has stored it.
        let text = [UInt8](Data("[".utf8) + Data(payloads.joined(separator: Data(",".utf8))) + Data("]\n".utf8))
        var written = 0
        while written < text.count {
            let count = text[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 || errno == EINTR else { throw LaunchFailure(path, code: errno) }
            written += max(0, count)
        }
        return path
    }

    /// Removes the file of an app once its process is done with what was in it, or gone.
    func removePayloads(of id: AppID) {
        guard payloadFiles.contains(id), machines[id]?.hasPayloads != true else { return }
        unlink(payloadPath(id))
        payloadFiles.remove(id)
    }

    /// The process that the last service has left may still read its file.
    func adoptPayloads(of id: AppID) {
        if machines[id]?.hasPayloads == true { payloadFiles.insert(id) }
    }

    /// Removes the files that earlier services have left to processes that are gone.
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
    /// Whether something is under way of which a program reads in a file.
    fileprivate var hasPayloads: Bool { begun.contains { $0.wake.source.handover == .payloads } || mayReadChoices }
}
