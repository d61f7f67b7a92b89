"""GeoClue with its agent, and a receiver that reports where the machine is said to be."""

from checks import check
from machine import Failure, wait_until
from service import Service

APP = "org.example.Arrivals"
# Half a kilometre outside of the region. From further away the service asks every quarter of an hour (docs/location.md).
HOME, AWAY = (52.5163, 13.3777), (52.5235, 13.3777)

SCRIPT = """\
#!/bin/sh
tr -d '\\n' <"$NIGHTSHIFT_PAYLOAD" >>"$HOME/events"
echo >>"$HOME/events"
"""
# A receiver as GeoClue finds it at a socket: NMEA sentences, one a second, for as long as anybody reads them.
RECEIVER = """\
#!/bin/sh
while cat /root/position; do sleep 1; done
"""
SOCKET = "[Socket]\nListenStream=/run/receiver.sock\nAccept=yes\n[Install]\nWantedBy=sockets.target\n"
SERVICE = "[Service]\nExecStart=/root/receiver\nStandardOutput=socket\n"


def sentence(latitude, longitude):
    """Returns a position as a receiver reports it: GGA, with eight satellites and a dilution of 0.9."""

    def angle(value, digits):
        degrees = int(value)
        return f"{degrees:0{digits}d}{(value - degrees) * 60:07.4f}"

    body = f"GPGGA,120000.00,{angle(latitude, 2)},N,{angle(longitude, 3)},E,1,08,0.9,40.0,M,46.9,M,,"
    check_sum = 0
    for character in body:
        check_sum ^= ord(character)
    return f"${body}*{check_sum:02X}\r\n"


@check("location", "GeoClue's agent lets the service ask, and an app is woken when its region is entered and left.")
def location(run):
    machine = run.installed_machine("location")
    machine.put("/root/receiver", RECEIVER, mode="755")
    machine.put("/etc/systemd/system/receiver.socket", SOCKET)
    machine.put("/etc/systemd/system/receiver@.service", SERVICE)
    place(machine, AWAY)
    # Only the receiver knows the place: the service for Wi-Fi is the host's, and has no answer.
    machine.run("root", "sed -i -e 's|^# nmea-socket=.*|nmea-socket=/run/receiver.sock|' "
                f"-e '/^\\[wifi\\]/,/^\\[/ s|^#url=.*|url={run.origin.url('/v1/geolocate')}|' /etc/geoclue/geoclue.conf && "
                "systemctl daemon-reload && systemctl enable --now receiver.socket")
    ada = Service(machine)
    # A desktop's session starts an agent, which answers for the user.
    ada.run("systemd-run --user --quiet --unit=agent /usr/libexec/geoclue-2.0/demos/agent")
    machine.put("/home/ada/arrivals", SCRIPT, user="ada", mode="755")
    machine.put(f"/home/ada/{APP}.desktop", "[Desktop Entry]\nType=Application\nName=Arrivals\nExec=/home/ada/arrivals\n"
                "X-Nightshift-BackgroundModes=location;\nX-Nightshift-LocationReason=To greet you.\n", user="ada")
    ada.run(f"nightshift app install {APP}.desktop && nightshift app location {APP} --always && "
            f"nightshift region add home {HOME[0]},{HOME[1]} 300 --app {APP}", timeout=240)

    def region(state):
        def look():
            app = ada.ask("GET", f"/v1/location/{APP}")
            return app["regions"][0]["state"] == state

        try:
            wait_until("", look, 900, 3)
        except Failure:
            raise Failure(f"the region is not {state}: {ada.ask('GET', '/v1/location')}; agent: "
                          f"{ada.output('systemctl --user is-active agent', check=False)}; "
                          f"{machine.output('root', 'journalctl -u geoclue --no-pager -n 20', check=False)}") from None

    region("outside")
    place(machine, HOME)
    region("inside")
    wait_until("the app is woken for its arrival", lambda: '"kind":"entered"' in events(ada), 120)
    place(machine, AWAY)
    region("outside")
    wait_until("the app is woken for its departure", lambda: '"kind":"left"' in events(ada), 120)
    lines = events(ada).splitlines()
    if len(lines) != 2:
        raise Failure(f"two crossings woke the app {len(lines)} times: {lines}")
    return "entered and left"


def place(machine, position):
    # Renamed, so that nobody reads half a sentence.
    machine.put("/root/position.new", sentence(*position))
    machine.run("root", "mv /root/position.new /root/position")


def events(service):
    return service.output("cat events 2>/dev/null || true")
