import Foundation
import Nightshift

/// A command-line program that uses the queue. `DownloadQueue FOLDER URL...` downloads the URLs. If the program is
/// started again, it continues the downloads.
@main final class AppDelegate: ApplicationDelegate {
    private var queue: DownloadQueue?
    private let folder = URL(filePath: CommandLine.arguments.dropFirst().first ?? ".")

    init() {}

    func application(
        _ application: Application, didFinishLaunchingWithOptions launchOptions: [Application.LaunchOptionsKey: Any]?
    ) -> Bool {
        let queue = DownloadQueue(
            identifier: "queue",
            handlers: DownloadQueue.Handlers(
                progress: { url, percent in say("\(url.lastPathComponent) \(percent) %") },
                completion: { [folder] url, result in
                    do {
                        let target = folder.appending(path: url.lastPathComponent)
                        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                        try FileManager.default.moveItem(at: result.get(), to: target)
                        say("\(url.lastPathComponent) is here")
                    } catch {
                        say("\(url.lastPathComponent) could not be downloaded: \(error.localizedDescription)")
                    }
                }))
        self.queue = queue
        let urls = CommandLine.arguments.dropFirst(2).compactMap { URL(string: $0) }
        Task {
            await queue.add(urls)
            say("\(await queue.pending.count) under way")
        }
        return true
    }

    func application(
        _ application: Application, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping @Sendable () -> Void
    ) {
        queue?.completeWhenFinished(completionHandler)
    }
}

private func say(_ text: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data("\(text)\n".utf8))
}
