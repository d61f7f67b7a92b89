import Foundation
import Location
import NightshiftAPI
import TestSupport
import Testing

/// Tests of requests of apps and users: permission, and the sentences that explain missing events (R6).
@Suite struct StateRequestTests {
    private typealias Scene = LocationScene

    private static func request(_ permission: LocationPermission, _ scene: inout Scene) {
        scene.step { try? $0.requestAuthorization(permission, for: Scene.app, now: $1) }
    }

    /// Returns the permissions for which the user was asked.
    private static func questions(_ scene: Scene) -> [LocationPermission] {
        scene.effects.compactMap {
            guard case .ask(let app, let name, let reason, let permission) = $0, app == Scene.app, name == "Home",
                reason == "It waters the plants."
            else { return nil }
            return permission
        }
    }

    @Test func `R6: The service asks the user one question at a time, and gives the app the answer`() {
        var scene = Scene()
        scene.install(Scene.app, .ask)
        for _ in 0..<3 { Self.request(.whenInUse, &scene) }
        #expect(Self.questions(scene) == [.whenInUse])
        #expect(scene.status()?.sentence == "You are being asked whether it may use the location.")
        // The user has not answered, and the app can ask again.
        scene.step { $0.asked(Scene.app, nil, now: $1) }
        #expect(scene.status()?.permission == .ask)
        Self.request(.always, &scene)
        #expect(Self.questions(scene) == [.whenInUse, .always])
        scene.step { $0.asked(Scene.app, .whenInUse, now: $1) }
        #expect(scene.status()?.permission == .whenInUse && scene.effects.contains(.permission(Scene.app)))
        #expect(scene.entries(.locationPermission).map(\.detail) == ["whenInUse"])
        // After when-in-use, the app can ask once for always.
        Self.request(.whenInUse, &scene)
        Self.request(.always, &scene)
        scene.step { $0.asked(Scene.app, nil, now: $1) }
        Self.request(.always, &scene)
        #expect(Self.questions(scene) == [.whenInUse, .always, .always])
    }

    @Test(arguments: [LocationPermission.denied, .always])
    func `R6: The service asks no further question of a user who has decided`(permission: LocationPermission) {
        var scene = Scene()
        scene.install(Scene.app, permission)
        for wanted in [LocationPermission.whenInUse, .always] { Self.request(wanted, &scene) }
        #expect(Self.questions(scene).isEmpty && scene.status()?.permission == permission)
    }

    @Test func `R6: A setting that is changed elsewhere overrides the user's answer`() {
        var scene = Scene()
        scene.install(Scene.app, .ask)
        Self.request(.always, &scene)
        scene.permit(.denied)
        scene.step { $0.asked(Scene.app, .always, now: $1) }
        #expect(scene.status()?.permission == .denied)
    }

    @Test(arguments: [LocationPermission.ask, .denied])
    func `R6: The service refuses an invalid permission request`(permission: LocationPermission) {
        var scene = Scene()
        scene.install(Scene.app, .ask)
        let now = scene.now
        let problem = #expect(throws: Problem.self) {
            try scene.book.requestAuthorization(permission, for: Scene.app, now: now)
        }
        #expect(problem?.status == 422 && problem?.pointer == "/permission")
    }

    @Test func `R6: The service refuses requests for an app without an entry`() {
        var scene = Scene()
        let now = scene.now
        for body: (inout LocationState) throws -> Void in [
            { try $0.addRegion(Scene.region(), for: Scene.app, now: now) },
            { try $0.removeRegion("home", of: Scene.app, now: now) },
            { try $0.setSignificantChanges(true, for: Scene.app, now: now) },
            { try $0.change(Scene.app, AppLocationChange(permission: .always), now: now) },
            { try $0.requestAuthorization(.always, for: Scene.app, now: now) },
            { _ = try $0.processLocation(of: Scene.app, now) },
        ] {
            let problem = #expect(throws: Problem.self) { try body(&scene.book) }
            #expect(problem?.status == 404)
        }
        #expect(scene.book.apps.isEmpty && scene.book.notice(for: Scene.app) == nil)
    }

    @Test func `R6: Each sentence about location says why there are no events, and what to do`() throws {
        var scene = Scene()
        scene.step { $0.installed(Scene.app, Scene.manifest(), now: $1) }
        func sentence(_ words: String, _ location: SourceLocation = #_sourceLocation) {
            let sentence = scene.status()?.sentence ?? ""
            #expect(sentence.contains(words), sourceLocation: location)
        }
        sentence("does not monitor regions")
        scene.add()
        sentence("'nightshift app location org.example.Home --always'")
        scene.permit(.denied)
        sentence("do not allow it")
        scene.permit(.whenInUse)
        sentence("only while it is in the foreground")
        scene.permit(.always)
        sentence("It monitors one region, but there is no location source.")
        scene.watchChanges()
        sentence("neither a modem nor a network location")
        scene.tellSources()
        sentence("enters or leaves one region. It is notified of significant changes of the location.")
        scene.add(Scene.region("work"))
        sentence("2 regions")
        scene.step { $0.forceQuit(Scene.app, now: $1) }
        sentence("until you start it again")
    }

    @Test func `R6: A process gets the location only if its app has permission`() throws {
        var scene = Scene()
        scene.install(Scene.app, .whenInUse)
        scene.install(Scene.other)
        scene.add(for: Scene.other)
        scene.tellSources(regions: true, changes: false)
        scene.pass(10)
        func place(_ app: AppID) throws -> Place? { try scene.book.processLocation(of: app, scene.now).place }
        #expect(try place(Scene.app) == nil)
        #expect(try place(Scene.other) != nil)
        scene.step { $0.use(Scene.app, isInFront: true, now: $1) }
        let process = try scene.book.processLocation(of: Scene.app, scene.now)
        #expect(process.place != nil && process.canMonitorRegions && !process.canMonitorSignificantChanges)
        // The location may be outdated, which its time shows.
        scene.pass(250)
        let known = try #require(try place(Scene.app))
        #expect(known.time.timeIntervalSince1970 <= scene.now.seconds - 200)
    }
}
