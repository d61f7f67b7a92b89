import Foundation
package import NightshiftAPI
import Store

/// Another URL for a task that is there: its old one has expired, or another server is better.
extension TransferService {
    /// Gives a task that has not ended, or has failed, another URL, and keeps its bytes for as long as nothing disproves that
    /// they belong there: see ``RetargetedBytes``.
    package func retarget(_ id: TaskID, _ request: RetargetRequest) async throws(Problem) -> TaskStatus {
        guard request.clientData?.utf8.count ?? 0 <= Limits.clientDataLength else {
            throw .invalid(
                "A task's client data has at most \(Limits.clientDataLength) bytes.", pointer: "/clientData")
        }
        let found = try await ask { transaction in
            try transaction.task(id).map {
                ($0, try transaction.sessionSettings($0.session) ?? SessionSettings())
            }
        }
        guard let (record, settings) = found else { throw Self.noTask(id) }
        // Before its exchange is ended for nothing.
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
        // It may have ended, or begun, while its exchange came to rest.
        if let refusal = Self.refusal(before) { throw refusal }
        return status(of: after)
    }

    /// Why a task keeps its URL; nil where it may have another one.
    private static func refusal(_ record: TaskRecord) -> Problem? {
        switch record.state {
        case .completed:
            .conflict("Task \(record.id) is complete; its file is here.")
        case .cancelled:
            .conflict(
                "Task \(record.id) was cancelled. A new task continues it from its resume data, at another URL too.")
        case .failed where record.app != nil:
            .conflict(
                "The app of task \(record.id) was told that it failed. A new task continues it from its resume data.")
        case .failed where record.file != nil:
            .conflict("All bytes of task \(record.id) are here: \(record.file ?? "")")
        case .failed where record.kind == .upload: beganUpload(record.id)
        case .suspended, .waiting, .running, .finishing, .failed:
            // One made from resume data has begun as well, in another task.
            record.kind == .upload && (record.attempts > 0 || record.upload != nil) ? beganUpload(record.id) : nil
        }
    }

    private static func beganUpload(_ id: TaskID) -> Problem {
        .conflict(
            "Upload \(id) has begun: what its server has of it is of no use to another. Cancel it and add a new one.")
    }

    /// The task as it would be accepted now, at its new URL.
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
                "What task \(record.id) sends with \(record.method) is for its own server. For another one cancel it and add a new one."
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
