import Foundation
import FoundationNetworking
import Nightshift

extension ProbeSession: URLSessionDownloadDelegate, URLSessionDataDelegate, URLSessionBackgroundDelegate {
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        note(.progress, downloadTask) { sighting in
            sighting.bytes = totalBytesWritten
            sighting.expected = totalBytesExpectedToWrite
        }
        let deeds = conduct.deeds(at: .progress, task: downloadTask, bytes: totalBytesWritten)
        if deeds.contains(.cancelAndResume) {
            downloadTask.cancel(byProducingResumeData: { [self] data in
                note(.cancelled, downloadTask) { $0.hasResumeData = data != nil }
                if let data { resume(data, as: "\(downloadTask.taskDescription ?? "") again") }
            })
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        note(.sent, task) { sighting in
            sighting.bytes = totalBytesSent
            sighting.expected = totalBytesExpectedToSend
        }
        _ = conduct.deeds(at: .progress, task: task, bytes: totalBytesSent)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        note(.resumed, downloadTask) { sighting in
            sighting.bytes = fileOffset
            sighting.expected = expectedTotalBytes
        }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        note(.finishing, downloadTask) { $0.status = (downloadTask.response as? HTTPURLResponse)?.statusCode }
        _ = conduct.deeds(at: .finishing, task: downloadTask)
        let name = downloadTask.taskDescription ?? "\(downloadTask.taskIdentifier)"
        let target = "\(conduct.orders.folder)/\(identifier)/\(name)"
        try? FileManager.default.createDirectory(
            atPath: "\(conduct.orders.folder)/\(identifier)", withIntermediateDirectories: true)
        let wasThere = access(target, F_OK) == 0
        if rename(location.path(percentEncoded: false), target) == 0 {
            note(wasThere ? .movedAgain : .moved, downloadTask)
        }
        _ = conduct.deeds(at: .moved, task: downloadTask)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note(.body, dataTask) { $0.text = String(decoding: data, as: UTF8.self) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let failure = error.map { $0 as NSError }
        let data = (error as? URLError)?.downloadTaskResumeData
        note(.completed, task) { sighting in
            sighting.status = (task.response as? HTTPURLResponse)?.statusCode
            sighting.priority = task.priority
            sighting.domain = failure?.domain
            sighting.code = failure?.code
            sighting.text = failure?.localizedDescription
            sighting.reason = (error as? URLError)?.backgroundTaskCancelledReason?.rawValue
            sighting.hasResumeData = data != nil
            let cookies = task.currentRequest?.url.flatMap { HTTPCookieStorage.shared.cookies(for: $0) } ?? []
            sighting.cookies = cookies.map { "\($0.name)=\($0.value)" }.sorted()
        }
        let deeds = conduct.deeds(at: .completed, task: task)
        if deeds.contains(.retry), let data { resume(data, as: "\(task.taskDescription ?? "") again") }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        note(.invalid) { $0.code = (error as? URLError)?.errorCode }
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        note(.finishedEvents)
        _ = conduct.deeds(at: .finishedEvents)
        begin(at: .finishedEvents)
        DispatchQueue.main.async { self.complete() }
    }
}
