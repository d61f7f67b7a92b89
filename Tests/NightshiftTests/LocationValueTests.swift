import Foundation
import NightshiftAPI
import Testing

@testable import Nightshift

/// Tests of locations and regions as in Core Location (row R6).
@Suite struct LocationValueTests {
    @Test(
        arguments: [
            (90, 180, true), (-90, -180, true), (0, 0, true), (90.001, 0, false), (0, -180.001, false),
            (.nan, 0, false), (0, .infinity, false),
        ] as [(Double, Double, Bool)])
    func `R6: A coordinate is valid up to the poles and the antimeridian`(
        _ latitude: Double, _ longitude: Double, _ isValid: Bool
    ) {
        #expect(CLLocationCoordinate2DIsValid(CLLocationCoordinate2DMake(latitude, longitude)) == isValid)
        #expect(!CLLocationCoordinate2DIsValid(kCLLocationCoordinate2DInvalid))
    }

    @Test func `R6: A distance follows the earth's curve, crosses the antimeridian and ignores altitudes`() {
        func location(_ latitude: Double, _ longitude: Double, _ altitude: Double = 0) -> CLLocation {
            CLLocation(
                coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: altitude,
                horizontalAccuracy: 5, verticalAccuracy: 5, timestamp: Date())
        }
        let degree = 2 * Double.pi * 6_371_008.8 / 360
        #expect(abs(location(0, 179.5).distance(from: location(0, -179.5, 5_000)) - degree) < 0.001)
        #expect(abs(location(0, 0).distance(from: location(0, 180)) - 180 * degree) < 0.001)
        #expect(location(52, 13).distance(from: location(52, 13)) == 0)
        #expect(location(52, 13).distance(from: location(91, 13)).isNaN)
    }

    @Test func `R6: A location made from two numbers has the current time and no other known values`() {
        let before = Date()
        let location = CLLocation(latitude: 52.5, longitude: 13.4)
        #expect(location.coordinate.latitude == 52.5 && location.coordinate.longitude == 13.4)
        #expect(location.horizontalAccuracy == 0 && location.altitude == 0)
        #expect(location.verticalAccuracy == -1 && location.speed == -1 && location.course == -1)
        #expect(location.timestamp >= before && location.timestamp <= Date())
        #expect(location.copy() as? CLLocation === location)
        #expect(location.description.hasPrefix("<+52.50000000,+13.40000000> +/- 0.00m"))
    }

    @Test func `R6: Regions with the same identifier are equal, and copies are independent`() throws {
        let center = CLLocationCoordinate2D(latitude: 52.5, longitude: 13.4)
        let home = CLCircularRegion(center: center, radius: 100, identifier: "home")
        #expect(home.notifyOnEntry && home.notifyOnExit)
        home.notifyOnExit = false
        let copy = try #require(home.copy() as? CLCircularRegion)
        home.notifyOnEntry = false
        #expect(copy.notifyOnEntry && !copy.notifyOnExit && copy.radius == 100)
        #expect(home == CLCircularRegion(center: .init(), radius: 5, identifier: "home"))
        #expect(home != CLCircularRegion(center: center, radius: 100, identifier: "work"))
        #expect(Set<CLRegion>([home, copy]).count == 1)
    }

    @Test func `R6: A circle contains its boundary, but no point beyond it and no invalid coordinate`() {
        let degree = 2 * Double.pi * 6_371_008.8 / 360
        let circle = CLCircularRegion(
            center: CLLocationCoordinate2D(latitude: 0, longitude: 180), radius: degree, identifier: "line")
        #expect(circle.contains(CLLocationCoordinate2D(latitude: 0, longitude: -179.001)))
        #expect(circle.contains(CLLocationCoordinate2D(latitude: 0, longitude: 180)))
        #expect(!circle.contains(CLLocationCoordinate2D(latitude: 0, longitude: 178.999)))
        #expect(!circle.contains(kCLLocationCoordinate2DInvalid))
        #expect(!CLCircularRegion(center: .init(), radius: .nan, identifier: "none").contains(.init()))
    }

    @Test(
        arguments: [(-1, 0, 0), (.nan, 0, 0), (10_000_001, 0, 0), (5, 91, 0), (5, 0, .nan)]
            as [(Double, Double, Double)])
    func `R6: The library refuses to monitor an invalid circle`(
        _ radius: Double, _ latitude: Double, _ longitude: Double
    ) {
        let center = CLLocationCoordinate2D(latitude: latitude, longitude: longitude)
        #expect(CLCircularRegion(center: center, radius: radius, identifier: "x").monitored == nil)
    }

    @Test func `R6: Errors and enumerations have the same numbers as Apple's`() {
        #expect(
            [
                CLError.locationUnknown, .denied, .network, .headingFailure, .regionMonitoringDenied,
                .regionMonitoringFailure, .regionMonitoringSetupDelayed, .regionMonitoringResponseDelayed,
            ].map(\.rawValue) == Array(0...7))
        let error: any Error = CLError(.denied)
        #expect((error as NSError).domain == "kCLErrorDomain" && (error as NSError).code == 1)
        if case CLError.denied = error {} else { Issue.record("It is not caught by its code.") }
        #expect([CLRegionState.unknown, .inside, .outside].map(\.rawValue) == [0, 1, 2])
        #expect(
            [
                CLAuthorizationStatus.notDetermined, .restricted, .denied, .authorizedAlways, .authorizedWhenInUse,
            ].map(\.rawValue) == [0, 1, 2, 3, 4])
        #expect(CLAccuracyAuthorization.fullAccuracy.rawValue == 0)
        #expect(kCLLocationAccuracyBest == -1 && kCLDistanceFilterNone == -1)
        #expect(Application.LaunchOptionsKey.location.rawValue == "UIApplicationLaunchOptionsLocationKey")
    }

    // MARK: - The location state of a process

    private func region(_ identifier: String, radius: Double = 100) throws -> MonitoredRegion {
        MonitoredRegion(
            identifier: identifier, center: try #require(Coordinate(latitude: 52.5, longitude: 13.4)), radius: radius)
    }

    @Test func `R6: The region state contains the service's regions, with later requests applied`() throws {
        var book = LocationManagers()
        var answer = ProcessLocation(permission: .always)
        answer.regions = [RegionStatus(region: try region("home"), state: .inside)]
        book.add(.monitor(try region("work")))
        book.add(.stopMonitoring("home"))
        book.learn(answer, isFirst: true, askedAfter: 0)
        #expect(book.regions == [try region("work")])
        // A later request about the same region replaces a waiting request, but not one that is being sent.
        let next = book.tell()
        let first = try #require(next)
        book.add(.monitor(try region("work", radius: 5)))
        book.add(.monitor(try region("work", radius: 6)))
        book.add(.monitor(try region("home", radius: 7)))
        #expect(
            book.wishes.map(\.wish) == [
                .monitor(try region("work")), .monitor(try region("work", radius: 6)),
                .monitor(try region("home", radius: 7)),
            ])
        answer.regions.append(RegionStatus(region: try region("work"), state: .unknown))
        book.told(first.number, answer)
        #expect(book.regions.map(\.radius).sorted() == [6, 7])
        // The library ignores the response to the first reading if it already knows a state.
        book.learn(ProcessLocation(permission: .denied), isFirst: true, askedAfter: 0)
        #expect(book.permission == .always)
    }

    @Test func `R6: The permission sent on the channel overrides responses, and decides about access`() {
        var book = LocationManagers()
        #expect(book.status == .notDetermined)
        book.learn(Problem.taskNotPermitted("There is no entry."))
        #expect(book.status == .restricted)
        var answer = ProcessLocation(permission: .ask)
        answer.place = Coordinate(latitude: 1, longitude: 2).map { Place($0, accuracy: 5, time: Date()) }
        book.learn(answer, askedAfter: 0)
        #expect(book.status == .notDetermined && book.place == nil)
        book.learn(.always)
        book.learn(answer, askedAfter: 0)
        #expect(book.status == .authorizedAlways && book.place != nil)
        book.channelOpened()
        #expect(book.status == .authorizedAlways)
        book.learn(.denied)
        #expect(book.status == .denied && book.place == nil)
    }

    @Test func `R6: A location from an event replaces the response to an earlier request`() throws {
        let place = { (longitude: Double) in
            Coordinate(latitude: 1, longitude: longitude).map { Place($0, accuracy: 5, time: Date()) }
        }
        var book = LocationManagers()
        var answer = ProcessLocation(permission: .always)
        // The first request is in progress when the event arrives, and its response has no location.
        book.learn(try #require(place(2)))
        book.learn(answer, askedAfter: 0)
        #expect(book.place?.longitude == 2)
        answer.place = place(3)
        book.learn(answer, askedAfter: 1)
        #expect(book.place?.longitude == 3)
        // The response to a request of the app does not replace a later location either.
        book.add(.significantChanges(true))
        let sent = book.tell()
        book.learn(try #require(place(4)))
        book.told(try #require(sent).number, answer)
        #expect(book.place?.longitude == 4)
    }

    @Test func `R6: A location proves the side of a boundary only if it is accurate enough`() throws {
        let home = try region("home", radius: 500)
        let place = { (longitude: Double, accuracy: Double) in
            Coordinate(latitude: 52.5, longitude: longitude).map { Place($0, accuracy: accuracy, time: Date()) }
        }
        #expect(home.state(at: place(13.4, 400)) == .inside)
        #expect(home.state(at: place(13.4, 500)) == .unknown)
        #expect(home.state(at: place(13.41, 100)) == .outside)
        #expect(home.state(at: place(13.41, 300)) == .unknown)
        #expect(home.state(at: nil) == .unknown)
    }

    // MARK: - Archives

    private func archived<Value: NSObject & NSSecureCoding>(_ value: Value) throws -> Value {
        let data = try NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: true)
        return try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: Value.self, from: data))
    }

    @Test func `R6: An archived location is unarchived unchanged`() throws {
        let location = CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: -52.5, longitude: 13.4), altitude: 30, horizontalAccuracy: 8,
            verticalAccuracy: -1, course: 90, courseAccuracy: 5, speed: 1.5, speedAccuracy: 0.25,
            timestamp: Date(timeIntervalSince1970: 1_800_000_000.125))
        let copy = try archived(location)
        #expect(copy.description == location.description && copy.timestamp == location.timestamp)
        #expect(copy.altitude == 30 && copy.verticalAccuracy == -1)
        #expect(copy.courseAccuracy == 5 && copy.speedAccuracy == 0.25)
        #expect(CLLocation(latitude: 1, longitude: 2).speedAccuracy == -1)
    }

    @Test func `R6: An archived region is unarchived unchanged, and an archive of another object fails`() throws {
        let home = CLCircularRegion(
            center: CLLocationCoordinate2D(latitude: 52.5, longitude: 13.4), radius: 150, identifier: "home é")
        home.notifyOnExit = false
        let copy = try archived(home)
        #expect(copy == home && copy.description == home.description)
        #expect(copy.notifyOnEntry && !copy.notifyOnExit)
        let beacon = CLBeaconRegion(uuid: UUID(), major: 7, minor: 9, identifier: "desk")
        let other = try archived(beacon)
        #expect(other == beacon && other.beaconIdentityConstraint == beacon.beaconIdentityConstraint)
        #expect(other.major == 7 && other.minor == 9)
        let data = try NSKeyedArchiver.archivedData(withRootObject: "text" as NSString, requiringSecureCoding: true)
        #expect((try? NSKeyedUnarchiver.unarchivedObject(ofClass: CLRegion.self, from: data)) == nil)
    }
}
