// Shows the result of the readiness check.
fetch(document.querySelector('#health a').href)
  .then((response) => response.json())
  .then(({ status, postgres, redis }) => {
    document.getElementById('health').textContent = `${status} (Postgres: ${postgres}, Redis: ${redis})`
  })
