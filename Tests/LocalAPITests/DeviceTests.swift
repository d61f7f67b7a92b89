import Foundation
import NightshiftAPI
import TestSupport
import Testing

@testable import LocalAPI

@Suite struct DeviceTests {
    private func device(_ answer: Answer) throws -> DeviceStatus {
        try JSON.decode(DeviceStatus.self, from: Data(answer.body))
    }

    @Test func `L6: The API shows and changes the device, and null removes an override`() async throws {
        try await withAPI { server, _ in
            let first = try device(try await server.request("GET", "/v1/device"))
            #expect(first.settings == DeviceSettings() && first.doze.phase == .awake)
            let set = try await server.request(
                "PATCH", "/v1/device",
                body:
                    #"{"backgroundPolicy":"contiguous:60","expirationLead":7,"overrides":{"power":"battery","idle":"yes"}}"#
            )
            let changed = try device(set)
            #expect(changed.settings.backgroundPolicy == BackgroundPolicy(.contiguous, seconds: 60))
            #expect(changed.settings.expirationLead == 7 && changed.conditions.power == .battery)
            let unset = try device(
                try await server.request("PATCH", "/v1/device", body: #"{"overrides":{"power":null}}"#))
            #expect(unset.settings.overrides == [.idle: "yes"])
        }
    }

    @Test(
        arguments: [
            (#"{"overrides":{"colour":"red"}}"#, "/overrides/colour"), (#"{"policy":"contiguous"}"#, "/policy"),
            (#"{"backgroundPolicy":"generous"}"#, "/backgroundPolicy"),
            (#"{"overrides":{"idle":true}}"#, "/overrides/idle"),
        ])
    func `L6: The API refuses an invalid override and reports its position`(body: String, pointer: String) async throws
    {
        let answer = try await withAPI { server, _ in try await server.request("PATCH", "/v1/device", body: body) }
        #expect(answer.status == 400)
        #expect(try answer.problem.pointer == pointer)
    }

    @Test func `L6: The API accepts a request for doze or refuses it with a reason`() async throws {
        try await withAPI { server, _ in
            let answer = try await server.request("POST", "/v1/device/doze", body: #"{"phase":"dozing"}"#)
            #expect(try device(answer).doze.phase == .dozing)
            let refused = try await server.request("POST", "/v1/device/doze", body: #"{"phase":"dozing"}"#)
            #expect(refused.status == 409)
            #expect(try refused.problem.detail == "It does that already.")
            #expect(try await server.request("POST", "/v1/device/doze", body: "{}").status == 400)
        }
    }
}
