import Foundation
package import NightshiftAPI
import Store

/// Changes of the URL of an existing task, because the old URL has expired or another server is better.
extension TransferService {
    /// Gives a new URL to a task that has failed or has not ended. The bytes on disk are kept until a response shows
    /// that they do not belong to the file at the new URL. See ``RetargetedBytes``.
    package func retarget(_ id: TaskID, _ request: RetargetRequest) async throws(Problem) -> TaskStatus {
        guard request.clientData?.utf8.count ?? 0 <= Limits.clientDataLength else {
            throw .invalid(
                "The client data of a transfer can have at most \(Limits.clientDataLength) bytes.",
                pointer: "/clientData")
        }
        let found = try await ask { transaction in
            try transaction.task(id).map {
                ($0, try transaction.sessionSettings($0.session) ?? SessionSettings())
            }
        }
        guard let (record, settings) = found else { throw Self.noTask(id) }
        // This check comes first, so that the exchange is not ended unnecessarily.
        if active[id] != nil, record.kind == .upload { throw Self.beganUpload(id) }
        if let refusal = Self.refusal(record) { throw refusal }
        let replacement = try Self.replacement(of: record, by: request, settings, now)
        let (before, after) = try await transition(
            id,
            also: { transaction, record in
                record.clientData = request.clientData ?? record.clientData
                try transaction.deleteQuestions(id)
                if record.origin != replacement.origin { try transaction.move(&record, to: replacement.origin) }
            },
            { Self.refusal($0) == nil ? .retarget(replacement.request) : nil })
        // The task may have ended or begun while its exchange stopped.
        if let refusal = Self.refusal(before) { throw refusal }
        return status(of: after)
    }

    /// Returns the reason why a task must keep its URL; nil if the URL may change.
    private static func refusal(_ record: TaskRecord) -> Problem? {
        switch record.state {
        case .completed:
            .conflict("Transfer \(record.id) is complete, so its URL cannot change.")
        case .cancelled:
            .conflict(
                "Transfer \(record.id) was cancelled. To continue it, add a new transfer with its resume data. "
                    + "You can use a different URL."
            )
        case .failed where record.app != nil:
            .conflict(
                "The app was notified that transfer \(record.id) failed. To continue, add a new transfer with its "
                    + "resume data."
            )
        case .failed where record.file != nil:
            .conflict("All bytes of transfer \(record.id) have arrived: \(record.file ?? "")")
        case .failed where record.kind == .upload: beganUpload(record.id)
        case .suspended, .waiting, .running, .finishing, .failed:
            // An upload made from resume data began in an earlier task.
            record.kind == .upload && (record.attempts > 0 || record.upload != nil) ? beganUpload(record.id) : nil
        }
    }

    private static func beganUpload(_ id: TaskID) -> Problem {
        .conflict(
            "Upload \(id) has begun, and another server cannot use the bytes already sent. Cancel it and add a new one."
        )
    }

    /// Returns the task with its new URL, as if it had been added now.
    private static func replacement(
        of record: TaskRecord, by request: RetargetRequest, _ settings: SessionSettings, _ now: ClockReading
    ) throws(Problem) -> TaskRecord {
        let address = request.url ?? record.request.url ?? ""
        let url: TransferURL
        do {
            url = try TransferURL(parsing: address)
        } catch {
            throw .invalid(error.message, pointer: "/url")
        }
        guard
            record.request.isHarmlessElsewhere || TransferURL.areOfOneOrigin(record.request.url ?? "", address)
        else {
            throw .conflict(
                "The \(record.method) request of transfer \(record.id) was meant for its own server. For another "
                    + "server, cancel this transfer and add a new one."
            )
        }
        var merged = record.request.moved(to: address)
        merged.headers = request.headers ?? merged.headers
        merged.credential = request.credential ?? url.credential ?? merged.credential
        return try RequestRules.record(
            merged, session: record.session, settings: settings.forTask(of: record.origin, movedTo: address),
            now: now, pointer: "", looksAtDestination: false)
    }
}
