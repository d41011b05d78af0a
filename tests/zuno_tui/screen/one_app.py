"""One started app for many tests: each begins anew, at a desk that has heard nothing yet."""

from pathlib import Path

from textual.pilot import Pilot
from textual.screen import Screen

from tests.zuno_tui.screen.scenes import NOW, ScriptedLink
from zuno_tui.screen.app import app as app_module
from zuno_tui.screen.app.app import ZunoApp
from zuno_tui.screen.last_seen import LastSeen
from zuno_tui.screen.themes import DEFAULT


class OneApp(ZunoApp):
    """Its first screen is empty, so that a desk can be put on it and taken away again."""

    CSS_PATH = str(Path(app_module.__file__).with_name("zuno.tcss"))

    def __init__(self) -> None:
        super().__init__(ScriptedLink(), clock=lambda: NOW, theme=DEFAULT)

    def get_default_screen(self) -> Screen[None]:  # type: ignore[override]
        return Screen()

    @staticmethod
    async def begin_again(
        pilot: Pilot[None], size: tuple[int, int], *, with_desk: bool = True
    ) -> None:
        """Without a desk nothing is below the page that is drawn, and so nothing is paid for it."""
        app = pilot.app
        assert isinstance(app, OneApp)
        with app._context():
            while len(app.screen_stack) > 1:
                await app.pop_screen()
            # With nothing on the screen, neither costs a layout.
            app.theme = DEFAULT
            await pilot.resize_terminal(*size)
            app.told, app._early = LastSeen(), None
            app._note_asked()
            app.waiting_page = None
            if with_desk:
                app._early = []
                await app.push_screen(ZunoApp.get_default_screen(app))
        await pilot.pause()
