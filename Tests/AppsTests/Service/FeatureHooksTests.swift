import Apps
import NightshiftAPI
import TestSupport
import Testing

/// Tests of several features that get the same reports.
@Suite struct PartHooksTests {
    @Test func `R1 R3 R6: Each feature gets every report in order and adds its notices`() async {
        let heard = Watched<[String]>([])
        func part(_ name: String, _ notice: ProcessEvent) -> AppService.FeatureHooks {
            let hear = { @Sendable (what: String) in heard.update { $0.append("\(name): \(what)") } }
            return AppService.FeatureHooks(
                use: { hear("\($0) \($1)") }, forceQuit: { hear("\($0) quit") }, launched: { hear("\($0) launched") },
                installed: { hear("\($0) \($1?.name ?? "gone")") }, wakesEnded: { hear("ends") },
                notices: { _ in [notice] })
        }
        let refresh = ProcessEvent.refresh(RefreshNotice(availability: .available))
        let push = ProcessEvent.push(PushNotice(token: "0a"))
        let parts = AppService.FeatureHooks([part("1", refresh), part("2", push), AppService.FeatureHooks()])
        let app = AppID(rawValue: "a")
        await parts.use(app, true)
        await parts.forceQuit(app)
        await parts.launched(app)
        await parts.installed(app, AppManifest(id: app, name: "A", entry: "/e", command: ["a"]))
        await parts.installed(app, nil)
        await parts.wakesEnded()
        let expected = ["a true", "a quit", "a launched", "a A", "a gone", "ends"].flatMap { ["1: \($0)", "2: \($0)"] }
        #expect(heard.read { $0 } == expected)
        #expect(await parts.notices(app) == [refresh, push])
    }
}
