import Foundation
import NightshiftAPI
import NightshiftClient

/// A result of `show` or `why`: the lines for people and the JSON document.
struct SubjectAnswer {
    var lines: [String]
    var document: any Encodable
}

/// The JSON document that describes a push.
struct PushDocument: Encodable {
    var app: AppID
    var push: PushRecord
}

/// The JSON document that describes a region identifier, with the regions of all apps that use this identifier.
struct RegionDocument: Encodable {
    var regions: [Entry]

    struct Entry: Encodable {
        var app: AppID
        var region: RegionStatus
        /// A sentence that says whether the region is monitored, and if not, why.
        var sentence: String
    }
}

/// A reader that fetches and prints the results for several subjects one by one.
struct SubjectReading {
    var invocation: Invocation
    var json: Bool
    var task: (TaskID) async throws -> SubjectAnswer
    var app: (AppID) async throws -> SubjectAnswer

    private var service: Service { invocation.service }

    /// Prints all subjects. An error about one subject does not affect the others.
    func run(_ subjects: [SubjectArgument]) async throws -> ExitStatus {
        if subjects.count == 1, case .tasks(let range) = subjects[0], range.ids.count == 1 {
            return try write(single: try await task(TaskID(range.ids.lowerBound)))
        }
        if subjects.count == 1, case .name(let name) = subjects[0] { return try write(single: try await answer(name)) }
        var status = ExitStatus.whole
        var isFirst = true
        func add(_ read: () async throws -> SubjectAnswer) async throws {
            do {
                try write(try await read(), isFirst: isFirst)
                isFirst = false
            } catch let problem as Problem where problem.status == 404 {
                status = .failed
                try refuse(CommandFailure(problem))
            } catch let failure as CommandFailure where failure.status == .failed {
                status = .failed
                try refuse(failure)
            }
        }
        for subject in subjects {
            switch subject {
            case .name(let name): try await add { try await answer(name) }
            case .tasks(let range) where range.ids.count == 1:
                try await add { try await task(TaskID(range.ids.lowerBound)) }
            case .tasks(let range):
                for id in try await ids(in: range) { try await add { try await task(id) } }
            }
        }
        if json { invocation.output.line(isFirst ? "[]" : "]") }
        return status
    }

    private func refuse(_ failure: CommandFailure) throws {
        if json {
            invocation.errors.write(try JSON.encode(ErrorReport(failure)) + Data("\n".utf8))
        } else {
            invocation.errors.line("nightshift: " + TerminalText.escaped(failure.message))
        }
    }

    private func write(single answer: SubjectAnswer) throws -> ExitStatus {
        if json { try invocation.json(answer.document) } else { invocation.output.lines(answer.lines) }
        return .whole
    }

    private func write(_ answer: SubjectAnswer, isFirst: Bool) throws {
        if json {
            invocation.output.write(Data((isFirst ? "[" : ",\n").utf8) + (try JSON.encode(answer.document)))
        } else {
            if !isFirst { invocation.output.line() }
            invocation.output.lines(answer.lines)
        }
    }

    /// Returns the transfers in a range that exist. The range may have gaps.
    private func ids(in range: TaskRange) async throws -> [TaskID] {
        var ids: [TaskID] = []
        let last = TaskID(range.ids.upperBound)
        try await service.forEachTask(after: TaskID(range.ids.lowerBound - 1), through: last) { ids.append($0.id) }
        return ids
    }

    // MARK: - Names

    private func answer(_ name: String) async throws -> SubjectAnswer {
        let isURL = name.contains("://")
        if !isURL, let answer = try await answer(ofApp: name) { return answer }
        switch try await subject(name, isURL: isURL) {
        case .app(let id): return try await app(id)
        case .task(let id, let note):
            if let note, !json { invocation.errors.line(note) }
            return try await task(id)
        case .push(let push, let app):
            let report = invocation.pushReport
            return SubjectAnswer(
                lines: [report.style.strong("A push for " + AppText.id(app.app)), "  " + report.line(push)],
                document: PushDocument(app: app.app, push: push))
        case .regions(let regions):
            return SubjectAnswer(
                lines: regions.flatMap { invocation.appLocationReport.lines(region: $0.region, of: $0.app) },
                document: RegionDocument(
                    regions: regions.map {
                        RegionDocument.Entry(app: $0.app.app, region: $0.region, sentence: $0.app.sentence)
                    }))
        }
    }

    /// Returns the result for the app with this id, or nil if no app has it. An app without a desktop entry is found
    /// too, although no list contains it.
    private func answer(ofApp name: String) async throws -> SubjectAnswer? {
        do {
            return try await app(try invocation.appID(AppArgument(text: name)))
        } catch let problem as Problem where [400, 404, 422].contains(problem.status) {
            return nil
        }
    }

    /// Returns the first match among apps, transfers, pushes and regions. The page searches in the same order.
    private func subject(_ name: String, isURL: Bool) async throws -> NamedSubject {
        if !isURL, let id = NamedSubject.app(name, in: try await service.fetch(.apps).apps) { return .app(id) }
        var matches = TaskMatches(name: name, path: isURL ? nil : try? invocation.absolute(name))
        try await service.forEachTask { matches.add($0) }
        if let found = matches.subject { return found }
        if let found = NamedSubject.push(name, in: try await service.fetch(.push).apps) { return found }
        if let found = NamedSubject.regions(name, in: try await service.fetch(.location).apps) { return found }
        throw CommandFailure.failed(
            "There is no app, transfer, push or region '\(isURL ? Redaction.url(name) : name)'. 'nightshift list --all' "
                + "lists all transfers, and 'nightshift app list' all apps.")
    }
}
