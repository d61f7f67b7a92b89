import NightshiftAPI
import TestSupport
import Testing

@testable import Daemon

extension Services {
    /// Tests of settings of the device and of all transfers, changed by several clients at once.
    @Suite struct SettingsTests {
        @Test func `Concurrent changes of settings all take effect, also in the next service`() async throws {
            let home = try TestHome()
            let rounds = 20
            try await home.serve { service in
                for round in 1...rounds {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        let changes = [
                            DeviceChange(expirationLead: Double(round)),
                            DeviceChange(overrides: [.battery: "\(round)"]),
                            DeviceChange(overrides: [.power: round % 2 == 0 ? "battery" : "external"]),
                            DeviceChange(followsFront: round % 2 == 0),
                        ]
                        for change in changes { group.addTask { try await service.change(change) } }
                        let limits = [
                            ServiceSettings(rateLimit: Int64(round) << 20),
                            ServiceSettings(maximumTransfers: round),
                        ]
                        for limit in limits {
                            group.addTask {
                                _ = try await service.client.patch("/v1/settings", limit, as: ServiceSettings.self)
                            }
                        }
                        try await group.waitForAll()
                    }
                    try await expectSettings(of: round, service)
                }
            }
            try await home.serve { try await expectSettings(of: rounds, $0) }
        }

        private func expectSettings(of round: Int, _ service: RunningService) async throws {
            let device = try await service.device().settings
            #expect(device.expirationLead == Double(round))
            #expect(device.overrides == [.battery: "\(round)", .power: round % 2 == 0 ? "battery" : "external"])
            #expect(device.followsFront == (round % 2 == 0))
            let limits = try await service.client.get("/v1/settings", as: ServiceSettings.self)
            #expect(limits == ServiceSettings(rateLimit: Int64(round) << 20, maximumTransfers: round, yield: .auto))
        }
    }
}
