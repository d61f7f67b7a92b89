import Foundation
import NightshiftAPI
import NightshiftClient
import Testing

/// One element that a client cannot read does not hide the others of its list.
@Suite struct UnreadablePartTests {
    private func list(_ edit: (inout [String: JSONValue]) -> Void) throws -> Data {
        let apps = try ["a", "b", "c"].map { name in
            var app = AppStatus(
                id: AppID(rawValue: name), name: name, state: .notRunning,
                background: BackgroundStatus(policy: .opportunistic, policySource: .device))
            app.manifest = AppManifest(id: app.id, name: name, entry: "/\(name)", command: [name])
            app.manifest?.fetchInterval = .seconds(900)
            return try JSON.decode([String: JSONValue].self, from: JSON.encode(app))
        }
        var edited = apps
        edit(&edited[1])
        return try JSON.encode(["apps": edited])
    }

    @Test func `B1: A client that cannot read an optional value shows the rest of the element, and names the value`()
        throws
    {
        let data = try list { app in
            var manifest = app["manifest"]?.object ?? [:]
            manifest["fetchInterval"] = "one in a blue moon"
            app["manifest"] = .object(manifest)
        }
        let (list, unreadable) = try JSON.decodeReadable(AppList.self, from: data)
        #expect(list.apps.map(\.id.rawValue) == ["a", "b", "c"])
        #expect(list.apps.map(\.manifest?.fetchInterval) == [.seconds(900), nil, .seconds(900)])
        #expect(unreadable.map(\.path) == [["apps", "b", "manifest", "fetchInterval"]])
        #expect(unreadable.first?.reason.contains("seconds up to a year") == true)
        #expect(try Endpoint.apps.answer(from: data).apps.count == 3)
    }

    @Test func `B1: A client that cannot read a required value skips the element, and says what is wrong with it`()
        throws
    {
        let data = try list { $0["faults"] = "many" }
        let (list, unreadable) = try JSON.decodeReadable(AppList.self, from: data)
        #expect(list.apps.map(\.id.rawValue) == ["a", "c"])
        #expect(unreadable.map(\.path) == [["apps", "b"]])
        #expect(unreadable.first?.reason.isEmpty == false)
        #expect(unreadable.first?.reason.contains("is missing") == false)
    }

    @Test func `B1: An answer of which nothing can be read is an error`() {
        #expect(throws: ServiceUnusable.self) { try Endpoint.apps.answer(from: Data("[]".utf8)) }
        #expect(throws: ServiceUnusable.self) { try Endpoint.apps.answer(from: Data("{".utf8)) }
    }

    @Test func `B1: A client reads the answer to a change in full or not at all`() throws {
        let data = Data(#"{"ids":[1,"x"]}"#.utf8)
        let endpoint = Endpoint.enqueue(EnqueueRequest(session: nil, app: nil, tasks: []))
        #expect(throws: ServiceUnusable.self) { try endpoint.answer(from: data) }
    }
}
