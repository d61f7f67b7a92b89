import Foundation
import HTTPTypes
import NightshiftAPI
import Testing
import Transfers

@testable import LocalAPI

/// Tests that compare the OpenAPI document with the routes and the types.
@Suite struct OpenAPITests {
    private let document: JSONValue

    /// The document, which is parsed only once because this takes half a second.
    private static let read = Result { try JSON.decode(JSONValue.self, from: Data(OpenAPI.document)) }

    init() throws {
        document = try Self.read.get()
    }

    /// The names of the problem responses that operations refer to, by status.
    private static let problemNames = [
        400: "BadRequest", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 413: "TooLarge",
        415: "UnsupportedMediaType", 422: "Invalid", 429: "TooMany", 431: "HeadersTooLarge", 503: "Unavailable",
    ]

    private var routes: [Route] {
        get throws {
            try Routes(makeService().operations, device: TestDevice().access, stop: {}).all
        }
    }

    private func schema(_ name: String) throws -> JSONValue {
        try #require(document["components"]["schemas"][name].object.map(JSONValue.object), "no schema \(name)")
    }

    @Test func `The pattern for policies in the OpenAPI document matches exactly the valid policies`() throws {
        let pattern = try Regex(try #require(try schema("BackgroundPolicy")["pattern"].string))
        for kind in ["contiguous", "opportunistic", "generous", ""] {
            for seconds in [
                "", ":", ":2", ":9", ":9.9", ":10", ":10.5", ":60", ":600", ":1000", ":3599", ":3599.5", ":3600",
                ":3600.0",
                ":3600.5", ":3601", ":4000", ":9999", ":10000", ":-60", ":sixty",
            ] {
                let text = kind + seconds
                #expect((BackgroundPolicy(text) != nil) == (text.wholeMatch(of: pattern) != nil), "\(text)")
            }
        }
    }

    @Test(arguments: [
        "never", "minimum", "900", "0.5", ".5", "7.", "", "default", "inf", "nan", "0x10", "+7", "-1", "1e3", "1.2.3",
        ".", "९",
    ]) func `The pattern for intervals in the OpenAPI document matches exactly the valid ones`(text: String) throws {
        let pattern = try Regex(try #require(try schema("RefreshInterval")["pattern"].string))
        #expect((RefreshInterval(text) != nil) == (text.wholeMatch(of: pattern) != nil))
    }

    @Test func `The OpenAPI document describes exactly the routes of the API`() throws {
        let described = (document["paths"].object ?? [:]).flatMap { path, item in
            (item.object ?? [:]).keys.filter { $0 != "parameters" }.map { "\($0.uppercased()) \(path)" }
        }
        #expect(described.sorted() == (try routes).map { "\($0.method.rawValue) \($0.path)" }.sorted())
    }

    @Test func `The OpenAPI document describes the query parameters of each route`() throws {
        for route in try routes {
            let operation = document["paths"][route.path][route.method.rawValue.lowercased()]
            let names = (operation["parameters"].array ?? []).map(resolve).filter { $0["in"] == "query" }
                .compactMap(\.["name"].string)
            #expect(Set(names) == route.query, "\(route.path)")
            #expect(names.count == Set(names).count)
        }
    }

    @Test func `Each operation in the OpenAPI document has a unique name, problems and a tag`() throws {
        var names: Set<String> = []
        for (path, item) in document["paths"].object ?? [:] {
            for (method, operation) in item.object ?? [:] where method != "parameters" {
                let name = try #require(operation["operationId"].string)
                #expect(names.insert(name).inserted, "\(name) is given twice")
                #expect(operation["summary"].string != nil)
                #expect(operation["tags"].array?.count == 1)
                let responses = try #require(operation["responses"].object)
                for status in ["400", "403", "431", "503"] { #expect(responses[status] != nil, "\(name) \(status)") }
                #expect(responses.keys.contains { $0.hasPrefix("2") })
                if operation["requestBody"].object != nil {
                    for status in ["413", "415"] { #expect(responses[status] != nil, "\(name) \(status)") }
                }
                #expect((item["parameters"].array != nil) == path.contains("{"))
            }
        }
    }

    @Test func `Each problem response in the OpenAPI document has the status of its problem`() throws {
        for (status, name) in Self.problemNames {
            #expect(document["components"]["responses"][name].object != nil, "\(status) \(name)")
        }
        for operation in document["paths"].object?.values.flatMap({ $0.object?.values.map(\.self) ?? [] }) ?? [] {
            for (status, response) in operation["responses"].object ?? [:] where !status.hasPrefix("2") {
                let name = try #require(Int(status).flatMap { Self.problemNames[$0] }, "\(status)")
                #expect(response == .object(["$ref": .string("#/components/responses/\(name)")]), "\(status)")
            }
        }
        let problems: [Problem] = [
            .badRequest(""), .forbidden(""), .notFound(""), .conflict(""), .tooLarge(""), .unsupportedMediaType(""),
            .invalid(""), .tooMany(""), .headersTooLarge(""), .unavailable(""),
        ]
        #expect(Set(problems.map(\.status)) == Set(Self.problemNames.keys))
    }

    @Test func `Every reference in the OpenAPI document can be resolved`() {
        func check(_ value: JSONValue) {
            if let reference = value["$ref"].string {
                #expect(resolve(value).object?["$ref"] == nil && resolve(value) != .null, "\(reference)")
            }
            for member in value.object?.values.map({ $0 }) ?? value.array ?? [] { check(member) }
        }
        check(document)
    }

    @Test func `The enumerations in the OpenAPI document are complete`() throws {
        func check<Value: CaseIterable & RawRepresentable>(_ type: Value.Type, _ name: String) throws
        where Value.RawValue == String {
            #expect(try schema(name)["enum"].array?.compactMap(\.string) == Value.allCases.map(\.rawValue), "\(name)")
        }
        try check(TaskKind.self, "TaskKind")
        try check(YieldMode.self, "YieldMode")
        try check(TaskState.self, "TaskState")
        try check(WaitReason.self, "WaitReason")
        try check(Decision.self, "Decision")
        try check(TransferFailure.Code.self, "TransferFailureCode")
        try check(ResponseRemark.self, "ResponseRemark")
        try check(Credential.Scheme.self, "CredentialScheme")
        try check(Checksum.Algorithm.self, "ChecksumAlgorithm")
        try check(TakenName.self, "TakenName")
        try check(SameTask.self, "SameTask")
        try check(RetryPolicy.self, "RetryPolicy")
        try check(TLSVersion.self, "TLSVersion")
        try check(ResumptionProtocol.self, "ResumptionProtocol")
        try check(SnapshotPolicy.self, "SnapshotPolicy")
        try check(AppState.self, "AppState")
        try check(BackgroundMode.self, "BackgroundMode")
        try check(WakeSource.self, "WakeSource")
        try check(WakeReason.self, "WakeReason")
        try check(PushStatus.Connection.self, "PushConnection")
        try check(PushRecord.State.self, "PushState")
        try check(AlertState.self, "AlertState")
        try check(NotificationPermission.self, "NotificationPermission")
        try check(AppNotification.Level.self, "NotificationLevel")
        try check(ExitCause.self, "ExitCause")
        try check(ProcessCommand.Action.self, "CommandAction")
        try check(SessionMessage.Kind.self, "MessageKind")
        try check(Challenge.Method.self, "ChallengeMethod")
        try check(MessageAnswer.Disposition.self, "AnswerDisposition")
        try check(PowerSource.self, "PowerSource")
        try check(BatteryWarning.self, "BatteryWarning")
        try check(NetworkConnectivity.self, "NetworkConnectivity")
        try check(NetworkKind.self, "NetworkKind")
        try check(DeviceKey.self, "DeviceKey")
        try check(DeviceValue.Source.self, "DeviceValueSource")
        try check(FrontStatus.Source.self, "FrontSource")
        try check(DozePhase.self, "DozePhase")
        try check(AwakeReason.self, "AwakeReason")
        try check(WindowReason.self, "WindowReason")
        try check(FileLockPolicy.self, "FileLockPolicy")
        try check(BackgroundStatus.PolicySource.self, "PolicySource")
        try check(BackgroundRun.End.self, "BackgroundRunEnd")
        try check(TransferRules.Discretion.self, "Discretion")
        try check(RefreshResult.self, "RefreshResult")
        try check(RefreshAvailability.self, "RefreshAvailability")
        try check(AppRefreshStatus.IntervalSource.self, "IntervalSource")
        try check(ScheduledTask.Kind.self, "ScheduledTaskKind")
        try check(ScheduledTask.Strategy.self, "SubmissionStrategy")
        try check(LocationPermission.self, "LocationPermission")
        try check(LocationEvent.Kind.self, "LocationEventKind")
        try check(RegionState.self, "RegionState")
        try check(LocationUpdate.Failure.self, "LocationUpdateFailure")
    }

    @Test(arguments: Sample.all)
    func `The schemas in the OpenAPI document have the keys of the types`(_ sample: Sample) throws {
        let schema = try schema(sample.name)
        let full = try JSON.decode(JSONValue.self, from: sample.full)
        #expect(Set(full.object?.keys.map { $0 } ?? []) == Set(schema["properties"].object?.keys.map { $0 } ?? []))
        let least = try JSON.decode(JSONValue.self, from: sample.least)
        #expect(Set(least.object?.keys.map { $0 } ?? []) == Set(schema["required"].array?.compactMap(\.string) ?? []))
        for value in [full, least] {
            #expect(violations(of: value, against: schema, at: sample.name) == [])
        }
    }

    @Test(arguments: Sample.all.filter(\.isRequest))
    func `Requests decode only with all required keys, and null counts as missing`(
        _ sample: Sample
    ) throws {
        let schema = try schema(sample.name)
        #expect(schema["additionalProperties"] == .bool(false))
        let required = schema["required"].array?.compactMap(\.string) ?? []
        let least = try JSON.decode([String: JSONValue].self, from: sample.least)
        try sample.decode(sample.full)
        try sample.decode(sample.least)
        for key in required {
            var broken = least
            broken[key] = nil
            #expect(throws: DecodingError.self) { try sample.decode(try JSON.encode(broken)) }
        }
        for key in schema["properties"].object?.keys.map({ $0 }) ?? [] where !required.contains(key) {
            var withNull = least
            withNull[key] = .null
            try sample.decode(try JSON.encode(withNull))
            let violations = violations(of: .object(withNull), against: schema, at: sample.name)
            #expect(violations == [], "null for \(key)")
        }
    }

    @Test func `The examples in the OpenAPI document match their schemas`() throws {
        var count = 0
        func check(_ value: JSONValue) {
            for (type, content) in value["content"].object ?? [:] where type == "application/json" {
                guard content["example"] != .null else { continue }
                count += 1
                #expect(violations(of: content["example"], against: content["schema"], at: "example") == [])
            }
            for member in value.object?.values.map({ $0 }) ?? value.array ?? [] { check(member) }
        }
        check(document["paths"])
        #expect(count >= 18)
    }

    private func resolve(_ value: JSONValue) -> JSONValue {
        guard let reference = value["$ref"].string else { return value }
        let place = reference.dropFirst(2).split(separator: "/").reduce(document) { $0[String($1)] }
        return resolve(place)
    }

    /// Returns the violations of a schema by `value`, for the JSON Schema keywords that the document uses.
    private func violations(of value: JSONValue, against schema: JSONValue, at place: String) -> [String] {
        let schema = resolve(schema)
        if let choices = schema["anyOf"].array {
            return choices.contains { violations(of: value, against: $0, at: place).isEmpty } ? [] : ["\(place): anyOf"]
        }
        var found: [String] = []
        let types = schema["type"].array?.compactMap(\.string) ?? schema["type"].string.map { [$0] } ?? []
        if !types.isEmpty, !types.contains(where: value.isOfType) { found.append("\(place): not \(types)") }
        if let values = schema["enum"].array, !values.contains(value) { found.append("\(place): not in enum") }
        for key in schema["required"].array?.compactMap(\.string) ?? [] where value.object?[key] == nil {
            found.append("\(place): \(key) is missing")
        }
        for (key, member) in value.object ?? [:] {
            let known = schema["properties"][key]
            let other = schema["additionalProperties"]
            if known != .null {
                found += violations(of: member, against: known, at: "\(place).\(key)")
            } else if other.object != nil {
                found += violations(of: member, against: other, at: "\(place).\(key)")
            } else if schema["properties"] != .null {
                found.append("\(place): \(key) is unknown")
            }
        }
        if schema["items"] != .null {
            for member in value.array ?? [] {
                found += violations(of: member, against: schema["items"], at: "\(place)[]")
            }
        }
        return found
    }
}
